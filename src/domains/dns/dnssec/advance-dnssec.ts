/**
 * DNSSEC on and off. The danger is a DS record at the parent whose key the zone does not have: validators then reject every
 * answer. So a zone is signed before the registry hears of it, and its keys outlive its DS records.
 *
 *          request on                 1 sign  2 send DS       3 registry shows it
 *   off ───────────────▶ enabling ─────────────────────────────────────────────────▶ on
 *    ▲                    │    ▲                                                     │
 *    │        request off │    │ request on: keys that are there are used again      │ request off
 *    │    or DS refused   ▼    │                                                     │
 *    └─────────────────── disabling ◀────────────────────────────────────────────────┘
 *        1 remove DS     2 registry shows none  3 the DS records' TTL has passed, still none  4 drop keys
 *
 * - Every arrow is one write of the zone's row; every step is idempotent. What is about to be sent to the registry is
 *   written first (`ds_records`, `ds_handed_at`), so that after a crash DS records that may have been sent are removed and
 *   waited for as those that were.
 * - What the registry shows by `info` decides: an update that is pending or unknown is checked again, and repeated when it
 *   has had no effect.
 * - Refused DS records (the TLD has no DNSSEC, say) lead to `off` by way of `disabling`; `dnssec_refusal` says why. A
 *   temporary refusal, such as that of a locked name, is only repeated; `dnssec_failure` says why it takes so long. Both are in our words, for
 *   the zone's owner; `dnssec_registry_said` has the registry's, for the operator.
 * - `request off` where no DS record was ever sent needs no waiting. `request on` while disabling starts over with
 *   `enabling`; that the keys are just being dropped does no harm, as the parent has no DS record then.
 * - `off` with DS records at the registry that are not ours, such as those of a name's former nameservers, goes through
 *   `disabling` too when off is requested.
 * - A process holds the zone's lease while it works on it (dnssec-store.ts), and writes only what the owner still wants.
 *
 * A zone that is on gets new keys by roll-key.ts.
 *
 * A resolver may remember unsigned answers for their TTL after the parent has DS records. It remembers them as unsigned
 * and valid, so `enabling` does not wait for them.
 */
import { disableDnssec } from './disable-dnssec.ts';
import { type DnssecContext, postpone } from './dnssec-step.ts';
import { type ClaimedZone, releaseZone } from './dnssec-store.ts';
import { enableDnssec } from './enable-dnssec.ts';
import { rollKey } from './roll-key.ts';

const STEPS = { enabling: enableDnssec, disabling: disableDnssec, on: rollKey } as const;

/** Takes the zone as far as it gets now, and releases its lease. Rejects only when the database fails. */
export async function advanceDnssec(context: DnssecContext, zone: ClaimedZone): Promise<void> {
  try {
    await STEPS[zone.state](context, zone);
  } catch (error) {
    context.logger.warn(
      { err: error, zone: zone.name, state: zone.state },
      'a step of DNSSEC failed; it is tried again',
    );
    const registrySaid = error instanceof Error ? error.message : String(error);
    await postpone(context, zone, { failure: 'A step did not succeed. It is tried again.', registrySaid });
  } finally {
    await releaseZone(context.db, zone);
  }
}
