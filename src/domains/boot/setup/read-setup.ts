/** Reads and checks the file of registries, TLDs and prices. Every problem is told at once, by the member that has it. */
import { readFile } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import { Value } from 'typebox/value';
import { ConfigError } from '../../../kernel/config/config.ts';
import type { Environment } from '../../../kernel/config/read-environment.ts';
import type { PriceBookOptions } from '../../prices/price-book.ts';
import type { NoticeServiceOptions } from '../../registry/notice-service/open-notice-service.ts';
import type { NoteProblem } from './note-problem.ts';
import { priceOptionsOf } from './price-options.ts';
import { passwordOf, type RegistryFileOptions, registryOptionsOf } from './registry-options.ts';
import { type ClaimsNoticesSetup, type RegistrarSetup, Setup } from './setup-schema.ts';

/** What the file says, as the parts of the service take it. */
export interface DomainsSetup {
  /** Empty: the registry of the environment. */
  readonly registries: readonly RegistryFileOptions[];
  readonly prices: PriceBookOptions;
  /** Who we are, where the file says it. */
  readonly registrar: RegistrarSetup | undefined;
  readonly servesRdap: boolean;
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
  const setup = await parseSetup(path, note);
  if (setup === undefined) throw new ConfigError([...new Set(problems)]);
  const rates = new Map(Object.entries(setup.currencies ?? {}));
  const prices = priceOptionsOf(setup, rates, note);
  const registries = await registryOptionsOf(setup, { folder: dirname(path), environment, note });
  const noticeService = await noticeServiceOf(setup.claims_notices, { folder: dirname(path), environment, note });
  const { auth_code_days: authCodeDays, registrar, rdap: servesRdap = false } = setup;
  if (servesRdap && registrar === undefined) note('rdap', 'say who the registrar is: `registrar`');
  if (problems.length > 0) throw new ConfigError(problems);
  return { registries, prices, registrar, servesRdap, authCodeDays, noticeService };
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

/** Undefined where it has not the form that the rest can be read from: the problems are noted. */
async function parseSetup(path: string, note: NoteProblem): Promise<Setup | undefined> {
  let read: unknown;
  try {
    const text = await readFile(path, 'utf8');
    read = extname(path).toLowerCase() === '.json' ? JSON.parse(text) : await parseYaml(text);
  } catch (error) {
    note('', `cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
  if (Value.Check(Setup, read)) return read;
  for (const { instancePath, keyword, message, params } of Value.Errors(Setup, read)) {
    // The alternatives that a union tried say less than the union itself.
    if (/\/password\//.test(instancePath)) continue;
    const place = placeOf(instancePath);
    if (keyword === 'additionalProperties' && 'additionalProperties' in params) {
      for (const member of params.additionalProperties)
        note(join(place, member), 'is no member; see docs/registrar.md');
    } else if (place.endsWith('.password')) {
      note(place, 'say where it is, not what it is: {file: PATH} or {env: NAME}');
    } else if (keyword !== 'boolean') note(place, message);
  }
  return undefined;
}

async function parseYaml(text: string): Promise<unknown> {
  const { parse } = await import('yaml');
  return parse(text, { maxAliasCount: 100 });
}

/** `/registries/0/fees` as `registries[0].fees`. */
function placeOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .reduce((place, part) => (/^\d+$/.test(part) ? `${place}[${part}]` : join(place, part)), '');
}

function join(place: string, member: string): string {
  return place === '' ? member : `${place}.${member}`;
}
