/** What an operator does beside the domain service's interface. */
export type { KnownRegistry } from './balance-verbs.ts';
export { createOperator, operateDomains } from './operate.ts';
export { type DomainVerbs, domainVerbs } from './verbs.ts';
