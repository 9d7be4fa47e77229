import type { Command } from 'commander';
import type { DomainVerbs } from '../../domains/operator/verbs.ts';
import type { AnswerOf } from '../../kernel/operator/index.ts';
import { ask } from './ask.ts';

interface Options {
  readonly json?: true;
}

export function addDnssec(domains: Command): void {
  const dnssec = domains.command('dnssec').helpCommand(false).description('change the keys of signed zones');
  dnssec
    .command('roll')
    .argument('<name>', 'a name whose zone is signed here')
    .summary('give a signed zone a new key')
    .description(
      'Begins a new key of a signed zone: it signs beside the old one, its DS record takes the old one’s place at the registry, and the old key ' +
        'goes when nobody remembers its DS record. That takes a bit more than a day, and longer where records have long TTLs. Asked for again it changes nothing.',
    )
    .option('--json', 'print {name, dnssec, roll_state, key_since, next_look_at, problem, registry_said}')
    .action(roll);
  dnssec
    .command('list')
    .summary('list zones whose keys are being changed')
    .description(
      'Lists the zones whose keys are being changed, how far that has come, and what keeps it from going on.',
    )
    .option('--all', 'every zone that is signed, or that the registry did not let be signed')
    .option('--json', 'print {zones}')
    .action(list);
}

async function roll(name: string, { json }: Options): Promise<void> {
  const zone = await ask('roll_key', { name });
  print(json ? JSON.stringify(zone) : lineOf(zone));
}

async function list({ all, json }: Options & { readonly all?: true }): Promise<void> {
  const answer = await ask('zone_keys', { all: all === true });
  if (json) return print(JSON.stringify(answer));
  if (answer.zones.length === 0) return print(all ? 'No zone is signed.' : 'No key is being changed.');
  print(answer.zones.map(lineOf).join('\n'));
}

function lineOf(zone: AnswerOf<DomainVerbs, 'roll_key'>): string {
  const state = zone.roll_state ?? zone.dnssec;
  const since = zone.key_since === null ? '' : `key of ${zone.key_since}`;
  const next = zone.next_look_at === null ? '' : `next step ${zone.next_look_at}`;
  const said = zone.registry_said === null ? '' : `(the registry: ${zone.registry_said})`;
  return [zone.name, state, since, next, zone.problem ?? '', said].filter((part) => part !== '').join('  ');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
