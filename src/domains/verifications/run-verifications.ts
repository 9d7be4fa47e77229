/** All that is due of verifications: registrants who are to be asked, names that are suspended and freed, messages. */
import { asLook } from '../../kernel/db/looks.ts';
import { settleHolds } from '../holds/index.ts';
import type { PriceBook } from '../prices/price-book.ts';
import type { Registry } from '../registry/registry.ts';
import { zonesByRegistry } from '../registry/routing-registry.ts';
import { inBackground } from '../registry/turns/command-turn.ts';
import { askRegistrants } from './ask-registrant.ts';
import { askingTldsOf } from './asking-tlds.ts';
import { type LinkDependencies, sendLinks } from './send-links.ts';
import { freeNames, suspendNames, tellSuspended } from './suspend-names.ts';

export interface VerificationDependencies extends LinkDependencies {
  readonly prices: Pick<PriceBook, 'list'>;
  readonly registry: Pick<Registry, 'members' | 'update'>;
}

/** Once. Any number of processes may do so at a time. */
export async function runVerifications(deps: VerificationDependencies, signal: AbortSignal): Promise<void> {
  const { clock, db, prices, registry } = deps;
  const asking = askingTldsOf(prices, clock.now());
  await askRegistrants(deps, signal);
  await freeNames(asLook(db), { asking, now: clock.now() });
  await suspendNames(db, { asking, now: clock.now() });
  // A registry that is away keeps no other’s names waiting.
  const settle = () => Promise.all(zonesByRegistry(registry).map(({ zones }) => settleHolds(deps, zones, signal)));
  await inBackground(settle, { signal });
  await tellSuspended(deps);
  await sendLinks(deps, signal);
}
