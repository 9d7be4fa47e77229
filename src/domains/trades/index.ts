/** Other holders at registries where that is a command of its own, with a price. */
export { offerTrade, requireTradable } from './offer-trade.ts';
