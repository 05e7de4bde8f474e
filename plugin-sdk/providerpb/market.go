package providerpb

// MarketService among the services says that the plugin serves Market.
const MarketService = "market"
