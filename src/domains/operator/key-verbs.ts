/** What an operator does about the keys of zones that are signed here. */
import type { Database } from '../../kernel/db/database.ts';
import { OperatorError, type VerbHandlers } from '../../kernel/operator/index.ts';
import { listKeys, requestRoll, type ZoneKey } from '../dns/dnssec/index.ts';
import { readName } from './read-name.ts';
import type { DomainVerbs } from './verbs.ts';

const LISTED = 10_000;

type KeyVerbs = Pick<VerbHandlers<DomainVerbs>, 'roll_key' | 'zone_keys'>;

export function createKeyVerbs({ db }: { readonly db: Database }): KeyVerbs {
  return {
    async roll_key({ name }) {
      const zone = await requestRoll(db, readName(name));
      if (zone !== undefined) return show(zone);
      throw new OperatorError(`${name} has no zone here that DNSSEC is on for. See: domains dnssec list --all.`);
    },
    async zone_keys({ all }) {
      return { zones: (await listKeys(db, { all, limit: LISTED })).map(show) };
    },
  };
}

function show({ dnssec, failure, key_since, name, next_look_at, registry_said, roll_state }: ZoneKey) {
  return {
    name,
    dnssec,
    roll_state,
    key_since: key_since?.toISOString() ?? null,
    next_look_at: next_look_at?.toISOString() ?? null,
    problem: failure,
    registry_said,
  };
}
