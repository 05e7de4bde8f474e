package source

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
)

// smallestPiece is how much text the parser sees at once where blocks are
// short. The lexer keeps a hundred bytes for each word of what it is given, and
// five times that while the list grows: a file of megabytes read whole costs
// hundreds of them, and in pieces only what its largest piece does.
const smallestPiece = 512

// Parser makes syntax of texts, within the limits of all texts together.
type Parser struct {
	// words counts what has been parsed, what had to be read twice included.
	words int
}

// Parse gives a file's syntax tree, or reports why there is none.
func (p *Parser) Parse(report *diagnostic.Collector, source File) (*hclsyntax.Body, bool) {
	report.AddText(source.Name, source.Bytes)
	if !p.withinLimits(report, source.Name, source.Bytes) {
		return nil, false
	}
	return p.parseText(report, source.Name, source.Bytes)
}

// ParseExpression is parse for a text that is one expression.
func (p *Parser) ParseExpression(report *diagnostic.Collector, source File) (hclsyntax.Expression, bool) {
	report.AddText(source.Name, source.Bytes)
	if !p.withinLimits(report, source.Name, source.Bytes) ||
		!shallowPiece(report, source.Name, source.Bytes, hcl.InitialPos) {
		return nil, false
	}
	expr, problems := hclsyntax.ParseExpression(source.Bytes, source.Name, hcl.InitialPos)
	report.AddParser(problems, "")
	return expr, !problems.HasErrors()
}

// parseText reads text in pieces that end after a closing brace at the
// beginning of a line, where a block of a tidy file ends.
//
// Such a brace can also stand in a here-document, a comment or a list. Then the
// piece ends with something open, which is an error, and is tried again with
// more text. So a piece that parses is what a parser of the whole text would
// have seen, and what is wrong is told as it would tell it.
func (p *Parser) parseText(c *diagnostic.Collector, name string, text []byte) (*hclsyntax.Body, bool) {
	whole := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}}
	fine := true
	for start := hcl.InitialPos; start.Byte < len(text); {
		piece, body, ok := p.parsePiece(c, name, text, start)
		if !ok {
			return nil, false
		}
		fine = join(c, whole, body) && fine
		start = positionAfter(start, piece)
	}
	return whole, fine
}

// parsePiece is the shortest piece at start that can be read by itself, or the
// report of why none can.
func (p *Parser) parsePiece(c *diagnostic.Collector, name string, text []byte, start hcl.Pos) ([]byte, *hclsyntax.Body,
	bool) {
	report := c.SameTexts()
	size := smallestPiece
	for tries := 1; ; tries++ {
		piece := pieceOf(text[start.Byte:], size)
		if countWords(piece) > maxPieceWords {
			if report.Count() == 0 {
				report.Fail(
					hcl.Range{Filename: name, Start: start, End: start},
					"",
					"A part of the fleet files is too large",
					fmt.Sprintf(
						"One block may hold %d words and symbols. Split it, or close it if its closing brace is missing.",
						maxPieceWords,
					),
				)
			}
			c.TakeOver(report)
			return nil, nil, false
		}
		last := start.Byte+len(piece) == len(text)
		report = c.SameTexts()
		if shallowPiece(report, name, piece, start) {
			file, problems := hclsyntax.ParseConfig(piece, name, start)
			if !problems.HasErrors() && file != nil {
				c.AddParser(problems, "")
				return piece, file.Body.(*hclsyntax.Body), true
			}
			report.AddParser(problems, "")
		}
		if last {
			c.TakeOver(report)
			return nil, nil, false
		}
		p.words += countWords(piece)
		if !p.wordsWithinLimit(c, name) {
			return nil, nil, false
		}
		// Mostly the next brace is the right one. Where it isn't, doubling keeps
		// a long text from being read again and again.
		size = len(piece) + 1
		if tries > 3 {
			size = 2 * len(piece)
		}
	}
}

// pieceOf is the beginning of text up to the first line that is a closing brace
// and ends after size bytes; all of it where there is none.
func pieceOf(text []byte, size int) []byte {
	if size >= len(text) {
		return text
	}
	for from := size - 1; ; {
		at := bytes.Index(text[from:], []byte("\n}"))
		if at < 0 {
			return text
		}
		from += at + 2
		end := bytes.IndexByte(text[from:], '\n')
		if end < 0 {
			return text
		}
		if len(bytes.TrimSpace(text[from:from+end])) == 0 {
			return text[:from+end+1]
		}
	}
}

// positionAfter is where the text after a piece begins. Pieces end with a line.
func positionAfter(start hcl.Pos, piece []byte) hcl.Pos {
	return hcl.Pos{Byte: start.Byte + len(piece), Line: start.Line + bytes.Count(piece, []byte("\n")), Column: 1}
}

// join adds what stands in a piece. Only here can it be seen that an attribute
// is set in two pieces.
func join(c *diagnostic.Collector, whole, piece *hclsyntax.Body) bool {
	whole.Blocks = append(whole.Blocks, piece.Blocks...)
	fine := true
	for _, attribute := range InTextOrder(piece.Attributes) {
		if first, twice := whole.Attributes[attribute.Name]; twice {
			fine = false
			c.Fail(
				attribute.NameRange,
				"",
				"Attribute redefined",
				fmt.Sprintf(
					"The argument %q was already set at %s. Each argument may be set only once.",
					attribute.Name,
					first.NameRange,
				),
			)
			continue
		}
		whole.Attributes[attribute.Name] = attribute
	}
	return fine
}

// InTextOrder are the attributes as they stand in the file.
func InTextOrder(attributes hclsyntax.Attributes) []*hclsyntax.Attribute {
	list := make([]*hclsyntax.Attribute, 0, len(attributes))
	for _, attribute := range attributes {
		list = append(list, attribute)
	}
	slices.SortFunc(list, func(a, b *hclsyntax.Attribute) int {
		return a.NameRange.Start.Byte - b.NameRange.Start.Byte
	})
	return list
}
