export { countWaiting, listBalances } from './balance-store.ts';
export { isLow, lookAtBalances, measureBalances, noteBalance, noteCreditRefusal } from './watch-balances.ts';
