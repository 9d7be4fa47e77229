/** The operator's verbs of the platform. */
import { systemClock } from '../kernel/clock/clock.ts';
import { publicUrlFor } from '../kernel/config/config.ts';
import type { AnswerOf, RequestOf } from '../kernel/operator/index.ts';
import { createTokenIssuer } from '../platform/access/issue-token.ts';
import { createTokenSigner } from '../platform/access/sign-token.ts';
import { createSigningKeys } from '../platform/access/signing-keys.ts';
import { createOperator, type PlatformVerbs, platformVerbs } from '../platform/operator/index.ts';
import { runOperatorVerb } from './ask-operator.ts';
import { openVault } from './open-store.ts';

/** Carries out the verb. Throws CommandError. */
export function askPlatform<Verb extends keyof PlatformVerbs>(
  verb: Verb,
  request: RequestOf<PlatformVerbs, Verb>,
): Promise<AnswerOf<PlatformVerbs, Verb>> {
  return runOperatorVerb(platformVerbs, verb, request, async ({ config, db }) => {
    const keys = createSigningKeys(db, await openVault(config, db));
    const signer = createTokenSigner(keys, publicUrlFor(config, config.port));
    return createOperator({ db, issuer: createTokenIssuer({ signer, clock: systemClock }) });
  });
}
