/** What an operator does beside the domain service's interface. */
export { createOperator, operateDomains } from './operate.ts';
export { type DomainVerbs, domainVerbs } from './verbs.ts';
