/** Reads and checks the file of registries, TLDs and prices. Every problem is told at once, by the member that has it. */
import { dirname } from 'node:path';
import { ConfigError } from '../../../kernel/config/config.ts';
import type { Environment } from '../../../kernel/config/read-environment.ts';
import type { PriceBookOptions } from '../../prices/price-book.ts';
import type { NoticeServiceOptions } from '../../registry/notice-service/open-notice-service.ts';
import type { RdapIdentity } from '../../resources/rdap/registrar-identity.ts';
import type { NoteProblem } from './note-problem.ts';
import { priceOptionsOf } from './price-options.ts';
import { rdapOf } from './rdap-options.ts';
import { readCheckedFile } from './read-checked-file.ts';
import { passwordOf, type RegistryFileOptions, registryOptionsOf } from './registry-options.ts';
import { type ClaimsNoticesSetup, type RegistrarSetup, Setup } from './setup-schema.ts';

/** What the file says, as the parts of the service take it. */
export interface DomainsSetup {
  /** Empty: the registry of the environment. */
  readonly registries: readonly RegistryFileOptions[];
  readonly prices: PriceBookOptions;
  /** Who we are, where the file says it. */
  readonly registrar: RegistrarSetup | undefined;
  /** Undefined: it is not answered. */
  readonly rdap: RdapIdentity | undefined;
  readonly authCodeDays: number | undefined;
  /** Where notices of trademark claims are. */
  readonly noticeService: NoticeServiceSetup | undefined;
}

export type NoticeServiceSetup = Pick<NoticeServiceOptions, 'password' | 'url' | 'user'>;

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
  const noticeService = await noticeServiceOf(setup.claims_notices, { folder: dirname(path), environment, note });
  const { auth_code_days: authCodeDays, registrar } = setup;
  const rdap = rdapOf(setup, note);
  if (problems.length > 0) throw new ConfigError(problems);
  return { registries, prices, registrar, rdap, authCodeDays, noticeService };
}

async function noticeServiceOf(
  setup: ClaimsNoticesSetup | undefined,
  {
    environment,
    folder,
    note,
  }: { readonly folder: string; readonly environment: Environment; readonly note: NoteProblem },
): Promise<NoticeServiceSetup | undefined> {
  if (setup === undefined) return undefined;
  const noteSecret = (problem: string) => note('claims_notices.password', problem);
  const read = await passwordOf(setup, { environment, folder, note: noteSecret });
  if (read === undefined) return undefined;
  const { password } = read;
  return {
    url: setup.url.replace(/\/+$/, ''),
    user: setup.user,
    password: async () => (typeof password === 'string' ? password : password()),
  };
}

function explainSecret(place: string, keyword: string): string | undefined {
  // The alternatives that a union tried say less than the union itself.
  if (place.includes('.password.')) return '';
  return keyword !== 'additionalProperties' && place.endsWith('.password')
    ? 'say where it is, not what it is: {file: PATH} or {env: NAME}'
    : undefined;
}
