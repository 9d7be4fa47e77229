/** The operator's verbs of the domain service. */
import type { DomainVerbs } from '../../domains/operator/index.ts';
import { systemClock } from '../../kernel/clock/clock.ts';
import type { AnswerOf, RequestOf } from '../../kernel/operator/index.ts';
import { runOperatorVerb } from '../ask-operator.ts';

/** Carries out the verb. Throws CommandError. */
export async function ask<Verb extends keyof DomainVerbs>(
  verb: Verb,
  request: RequestOf<DomainVerbs, Verb>,
): Promise<AnswerOf<DomainVerbs, Verb>> {
  // Loaded by the verbs that need it: the other verbs start without the domain service.
  const { createOperator, domainVerbs } = await import('../../domains/operator/index.ts');
  return runOperatorVerb(domainVerbs, verb, request, async ({ db }) => createOperator({ db, clock: systemClock }));
}
