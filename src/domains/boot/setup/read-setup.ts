/** Reads and checks the file of registries, TLDs and prices. Every problem is told at once, by the member that has it. */
import { dirname } from 'node:path';
import { ConfigError } from '../../../kernel/config/config.ts';
import type { Environment } from '../../../kernel/config/read-environment.ts';
import type { PriceBookOptions } from '../../prices/price-book.ts';
import type { NoteProblem } from './note-problem.ts';
import { priceOptionsOf } from './price-options.ts';
import { readCheckedFile } from './read-checked-file.ts';
import { type RegistryFileOptions, registryOptionsOf } from './registry-options.ts';
import { type RegistrarSetup, Setup } from './setup-schema.ts';

/** What the file says, as the parts of the service take it. */
export interface DomainsSetup {
  /** Empty: the registry of the environment. */
  readonly registries: readonly RegistryFileOptions[];
  readonly prices: PriceBookOptions;
  /** Who we are, where the file says it. */
  readonly registrar: RegistrarSetup | undefined;
  readonly servesRdap: boolean;
  readonly authCodeDays: number | undefined;
}

/** Throws `ConfigError`; its problems never hold a secret. */
export async function readSetup(path: string, environment: Environment): Promise<DomainsSetup> {
  const problems: string[] = [];
  const note: NoteProblem = (place, problem) =>
    problems.push(`${path}: ${place === '' ? problem : `${place}: ${problem}`}`);
  const setup = await readCheckedFile(Setup, path, note, { page: 'docs/registrar.md', explain: explainSecret });
  if (setup === undefined) throw new ConfigError([...new Set(problems)]);
  const rates = new Map(Object.entries(setup.currencies ?? {}));
  const prices = priceOptionsOf(setup, rates, note);
  const registries = await registryOptionsOf(setup, { folder: dirname(path), environment, note });
  const { auth_code_days: authCodeDays, registrar, rdap: servesRdap = false } = setup;
  if (servesRdap && registrar === undefined) note('rdap', 'say who the registrar is: `registrar`');
  if (problems.length > 0) throw new ConfigError(problems);
  return { registries, prices, registrar, servesRdap, authCodeDays };
}

function explainSecret(place: string, keyword: string): string | undefined {
  // The alternatives that a union tried say less than the union itself.
  if (place.includes('.password.')) return '';
  return keyword !== 'additionalProperties' && place.endsWith('.password')
    ? 'say where it is, not what it is: {file: PATH} or {env: NAME}'
    : undefined;
}
