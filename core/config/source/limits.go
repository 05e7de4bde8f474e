package source

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
)

// Limits that keep the parser, which recurses and keeps about a hundred bytes
// for each word, from taking the process down.
const (
	// maxDepth bounds nesting of brackets and operators in one place.
	maxDepth = 200
	// maxWords bounds words and symbols of all files together.
	maxWords = 900_000
	// maxPieceWords bounds what the parser sees at once.
	maxPieceWords = 100_000
)

// withinLimits says whether the parser may see text; what isn't is reported.
func (p *Parser) withinLimits(c *diagnostic.Collector, name string, text []byte) bool {
	if at, bad := firstInvalidUTF8(text); bad {
		c.Fail(positionOf(name, text, at), "", "The file is not UTF-8 text",
			"Fleet files are UTF-8. This byte belongs to no character; save the file as UTF-8, or move it away if it isn't a "+
				"fleet file.")
		return false
	}
	p.words += countWords(text)
	return p.wordsWithinLimit(c, name)
}

func (p *Parser) wordsWithinLimit(c *diagnostic.Collector, name string) bool {
	if p.words > maxWords {
		start := hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
		c.Fail(start, "", "The fleet files are too large",
			fmt.Sprintf("They hold more than %d words and symbols together. Is one of them not a fleet file?", maxWords))
		return false
	}
	return true
}

// shallowPiece says whether the parser may see a piece of text. The lexer, which
// the parser runs again, is only asked where a look at the bytes leaves doubt:
// running it twice on everything was half of what a load cost.
func shallowPiece(c *diagnostic.Collector, name string, piece []byte, start hcl.Pos) bool {
	if nestingAtMost(piece) <= maxDepth && !mayHoldHugeNumber(piece) {
		return true
	}
	tokens, _ := hclsyntax.LexConfig(piece, name, start)
	return shallow(c, tokens)
}

// nestingAtMost is an upper bound of the depth that shallow sees: every symbol
// that could nest, as if none were ever closed and none stood in a text.
func nestingAtMost(text []byte) int {
	depth := 0
	for i, b := range text {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b >= 0x80 && b < 0xC0:
		case b == ' ', b == '\n', b == '\t', b == '\r', b == '_', b == ',', b == ')', b == ']', b == '}':
		case b == '=':
			if i > 0 && text[i-1] == '=' {
				depth++
			}
		case b == '[':
			depth += 2
		default:
			depth++
		}
	}
	return depth
}

// mayHoldHugeNumber says whether modestNumber could refuse a number of text.
func mayHoldHugeNumber(text []byte) bool {
	digits := 0
	for i, b := range text {
		switch {
		case b >= '0' && b <= '9' || b == '.' && digits > 0:
			digits++
			if digits > 30 {
				return true
			}
		case (b == 'e' || b == 'E') && digits > 0:
			rest := text[i+1:]
			if len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
				rest = rest[1:]
			}
			if len(rest) > 2 && isDigit(rest[0]) && isDigit(rest[1]) && isDigit(rest[2]) {
				return true
			}
			digits = 0
		default:
			digits = 0
		}
	}
	return false
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// shallow follows the lexer's tokens, which are exactly what the parser sees.
// Brackets nest; so do operators, indexes and template directives that follow
// one another without a comma or the end of the line between them.
func shallow(c *diagnostic.Collector, tokens hclsyntax.Tokens) bool {
	type level struct {
		bracket hclsyntax.TokenType
		chain   int
	}
	levels := []level{{bracket: hclsyntax.TokenOBrace}}
	depth := 0
	fine := true
	for _, token := range tokens {
		top := &levels[len(levels)-1]
		switch token.Type {
		case hclsyntax.TokenOBrack:
			top.chain++
			depth++
			levels = append(levels, level{bracket: token.Type})
			depth++
		case hclsyntax.TokenTemplateControl:
			top.chain++
			depth++
			levels = append(levels, level{bracket: token.Type})
			depth++
		case hclsyntax.TokenOBrace, hclsyntax.TokenOParen, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc,
			hclsyntax.TokenTemplateInterp:
			levels = append(levels, level{bracket: token.Type})
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
			hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if len(levels) > 1 {
				depth -= top.chain + 1
				levels = levels[:len(levels)-1]
			}
		case hclsyntax.TokenComma:
			depth -= top.chain
			top.chain = 0
		case hclsyntax.TokenNewline:
			if top.bracket == hclsyntax.TokenOBrace {
				depth -= top.chain
				top.chain = 0
			}
		case hclsyntax.TokenIdent, hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit, hclsyntax.TokenComment,
			hclsyntax.TokenEqual, hclsyntax.TokenEOF:
		case hclsyntax.TokenNumberLit:
			if !modestNumber(string(token.Bytes)) {
				c.Fail(token.Range, "", "The number is too large", "Numbers have at most 64 digits and an exponent of at most 300.")
				fine = false
			}
		default:
			top.chain++
			depth++
		}
		if depth > maxDepth {
			c.Fail(token.Range, "", "The nesting is too deep",
				fmt.Sprintf("Brackets and operators may nest %d deep. Give a part of the expression its own name in a "+
					"locals block.", maxDepth))
			return false
		}
	}
	return fine
}

// modestNumber refuses literals such as 1e999999999, whose mere text form
// fills the memory.
func modestNumber(literal string) bool {
	if len(literal) > 64 {
		return false
	}
	_, exponent, found := strings.Cut(strings.ToLower(literal), "e")
	if !found {
		return true
	}
	n, err := strconv.Atoi(exponent)
	return err == nil && n >= -300 && n <= 300
}

// countWords is an upper bound of the tokens that the lexer will make: each
// symbol, and each beginning of a word.
func countWords(text []byte) int {
	words := 0
	inWord := false
	for _, b := range text {
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b >= utf8.RuneSelf
		switch {
		case letter && !inWord, !letter && b != ' ' && b != '\t' && b != '-' && b != '\r':
			words++
		case b == '-' && !inWord:
			words++
		}
		inWord = letter || inWord && b == '-'
	}
	return words
}

func firstInvalidUTF8(text []byte) (int, bool) {
	if utf8.Valid(text) {
		return 0, false
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i, true
		}
		i += size
	}
	return 0, false
}

// positionOf is the one-byte range at an offset.
func positionOf(name string, text []byte, offset int) hcl.Range {
	position := hcl.InitialPos
	for _, r := range string(text[:offset]) {
		position.Column++
		if r == '\n' {
			position.Line++
			position.Column = 1
		}
	}
	position.Byte = offset
	end := position
	end.Byte++
	end.Column++
	return hcl.Range{Filename: name, Start: position, End: end}
}
