/** The registries of the file as the EPP adapter takes them. Certificates are read here; passwords at each login, so that they can change. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseEppUrl } from '../../../kernel/config/parse-value.ts';
import type { Environment } from '../../../kernel/config/read-environment.ts';
import type { EppRegistryOptions, IdnRules, LaunchPhase } from '../../registry/epp/index.ts';
import type { CommandRate } from '../../registry/turns/command-window.ts';
import type { NoteProblem } from './note-problem.ts';
import { readPasswordFile } from './password-file.ts';
import {
  EXTENSIONS,
  FEE_VERSIONS,
  type RegistrySetup,
  type Setup,
  type TldSetup,
  type TRADES,
} from './setup-schema.ts';

export interface RegistryFileOptions extends Omit<EppRegistryOptions, 'logger' | 'clock'> {
  readonly id: string;
  readonly zones: readonly string[];
  /** Where the password is, if it is in a file. */
  readonly passwordFile: string | undefined;
}

interface Parts {
  /** Relative paths are taken from it. */
  readonly folder: string;
  readonly environment: Environment;
  readonly note: NoteProblem;
}

const extensionUris: Readonly<Record<Exclude<(typeof EXTENSIONS)[number], 'fee'>, string>> = {
  secDNS: 'urn:ietf:params:xml:ns:secDNS-1.1',
  rgp: 'urn:ietf:params:xml:ns:rgp-1.0',
  changePoll: 'urn:ietf:params:xml:ns:changePoll-1.0',
  loginSec: 'urn:ietf:params:xml:ns:epp:loginSec-1.0',
  secureAuthInfo: 'urn:ietf:params:xml:ns:epp:secure-authinfo-transfer-1.0',
};
const NAME_STORE_URI = 'http://www.verisign-grs.com/epp/namestoreExt-1.1';

type FeeVersion = (typeof FEE_VERSIONS)[number];

export function feeUri(version: FeeVersion): string {
  return version === '1.0' ? 'urn:ietf:params:xml:ns:epp:fee-1.0' : `urn:ietf:params:xml:ns:fee-${version}`;
}

export function tradeUri(form: (typeof TRADES)[number]): string {
  return `http://www.afnic.fr/xml/epp/${form}`;
}

/** Those to use where the registry has them. */
function extensionsOf({ extensions, fees = {}, name_store: nameStore = false, trade }: RegistrySetup): string[] {
  const versions = fees === false ? [] : fees.version === undefined ? FEE_VERSIONS : [fees.version];
  return [
    ...(extensions ?? EXTENSIONS).flatMap((extension) =>
      extension === 'fee' ? versions.map(feeUri) : [extensionUris[extension]],
    ),
    ...(nameStore === false ? [] : [NAME_STORE_URI]),
    ...(trade === undefined ? [] : [tradeUri(trade)]),
  ];
}

/** Verisign calls the registry of `com` dotCOM. */
function subProductsOf({ name_store: nameStore = false }: RegistrySetup): ((zone: string) => string) | undefined {
  if (nameStore === false) return undefined;
  const named = nameStore === true ? {} : nameStore;
  return (zone) => named[zone] ?? `dot${zone.toUpperCase()}`;
}

const LAUNCH_URI = 'urn:ietf:params:xml:ns:launch-1.0';

function launchPhaseOf(launch: NonNullable<TldSetup['launch']>): LaunchPhase {
  const { applications, name, phase, requires, until, validator } = launch;
  return {
    phase,
    ...(name === undefined ? {} : { name }),
    ...(requires === undefined ? {} : { requires }),
    ...(validator === undefined ? {} : { validator }),
    ...(until === undefined ? {} : { until: new Date(until) }),
    ...(applications === undefined ? {} : { applications }),
  };
}

export async function registryOptionsOf(setup: Setup, parts: Parts): Promise<RegistryFileOptions[]> {
  const { registries = [] } = setup;
  const { note } = parts;
  setup.tlds.forEach(({ registry, tld }, index) => {
    const place = `tlds[${index}].registry`;
    if (registries.length > 0 && registry === undefined) note(place, `say which of the registries sells ${tld}`);
    else if (registry !== undefined && !registries.some(({ id }) => id === registry)) {
      note(place, `there is no registry ${registry}`);
    }
  });
  const options: RegistryFileOptions[] = [];
  for (const [index, registry] of registries.entries()) {
    const place = `registries[${index}]`;
    if (registries.findIndex(({ id }) => id === registry.id) !== index)
      note(`${place}.id`, `${registry.id} is there twice`);
    const zones = setup.tlds.filter((tld) => tld.registry === registry.id).map(({ tld }) => tld);
    if (zones.length === 0) note(place, `no TLD of the file is sold by ${registry.id}`);
    const read = await readRegistry(registry, { ...parts, place });
    const idn = new Map(setup.tlds.filter((tld) => zones.includes(tld.tld)).flatMap((tld) => idnRulesIn(tld, note)));
    const idnUris = new Set([...idn.values()].map(({ uri }) => uri));
    const launches = new Map(
      setup.tlds.flatMap(({ launch, tld }) => (launch === undefined ? [] : [[tld, launchPhaseOf(launch)] as const])),
    );
    const isLaunching = zones.some((zone) => launches.has(zone));
    if (read === undefined) continue;
    const extensionUris = [...(read.extensionUris ?? []), ...idnUris, ...(isLaunching ? [LAUNCH_URI] : [])];
    options.push({
      ...read,
      extensionUris,
      ...(isLaunching && { launchPhaseOf: (zone: string) => launches.get(zone) }),
      ...(idn.size > 0 && { idnRulesOf: (zone: string) => idn.get(zone) }),
      id: registry.id,
      zones,
    });
  }
  return options;
}

export const IDN_URIS = {
  idn: 'urn:ietf:params:xml:ns:idn-1.0',
  idnLang: 'http://www.verisign.com/epp/idnLang-1.0',
} as const;

/** The zone with its tables, if it has any. */
function idnRulesIn({ idn, tld }: TldSetup, note: NoteProblem): [string, IdnRules][] {
  if (idn === undefined) return [];
  const tables = idn.tables.map(({ tag, characters = '', script }, index) => {
    const listed = new Set(characters);
    const ofScript = script === undefined ? undefined : readScript(script);
    if (ofScript === undefined && (script !== undefined || listed.size === 0)) {
      note(
        `tlds.${tld}.idn.tables[${index}]`,
        script === undefined ? 'name its script or its characters' : `there is no script ${script}`,
      );
    }
    return { tag, has: (character: string) => listed.has(character) || ofScript?.test(character) === true };
  });
  return [[tld, { uri: IDN_URIS[idn.extension], tables }]];
}

/** A script as Unicode calls it, such as Cyrillic; undefined: there is none of that name. */
function readScript(script: string): RegExp | undefined {
  try {
    return new RegExp(`^\\p{Script=${script}}$`, 'u');
  } catch {
    return undefined;
  }
}

type OneRegistry = Omit<RegistryFileOptions, 'id' | 'zones'>;

async function readRegistry(
  registry: RegistrySetup,
  { environment, folder, note, place }: Parts & { readonly place: string },
): Promise<OneRegistry | undefined> {
  const readPem = async (member: string, file: string | undefined) => {
    if (file === undefined) return undefined;
    return readFile(resolve(folder, file)).catch((error: Error) => void note(`${place}.${member}`, error.message));
  };
  const endpoint = readEndpoint(registry.endpoint, (problem) => note(`${place}.endpoint`, problem));
  const password = await passwordOf(registry, {
    environment,
    folder,
    note: (problem) => note(`${place}.password`, problem),
  });
  const [ca, cert, key] = [
    await readPem('ca_file', registry.ca_file),
    await readPem('certificate.cert_file', registry.certificate?.cert_file),
    await readPem('certificate.key_file', registry.certificate?.key_file),
  ];
  if (endpoint === undefined || password === undefined) return undefined;
  const { fees = {}, quirks = {}, trade } = registry;
  if (trade !== undefined && registry.contacts === 'none')
    note(`${place}.trade`, 'names without contacts have no holder');
  return {
    ...endpoint,
    ...password,
    clientId: registry.client_id,
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(registry.server_name === undefined ? {} : { servername: registry.server_name }),
    },
    connections: registry.connections ?? 1,
    extensionUris: extensionsOf(registry),
    subProductOf: subProductsOf(registry),
    tradeUri: trade && tradeUri(trade),
    nameserverModel: registry.hosts === 'attributes' ? 'hostAttr' : 'hostObj',
    dnssecInterface: registry.dnssec === 'keys' ? 'keyData' : 'dsData',
    contactModel: registry.contacts ?? 'objects',
    contactTypes: registry.contact_types ?? ['admin', 'tech', 'billing'],
    fees: fees === false ? undefined : { currency: fees.currency },
    checkBatchSize: registry.check_batch_size ?? 10,
    autoRenewGraceDays: registry.auto_renew_grace_days,
    addGrace: registry.add_grace && {
      days: registry.add_grace.days,
      feeCents: Math.round((registry.add_grace.fee ?? 0) * 100),
    },
    locksNewNames: registry.lock_new_names ?? true,
    warnBelowCents: registry.balance === undefined ? undefined : Math.round(registry.balance.warn_below * 100),
    commandRate: commandRateOf(registry, (problem) => note(`${place}.commands`, problem)),
    dailyLookCommands: registry.daily_look?.commands,
    codeMeanings: quirks.result_codes ?? {},
    lacksPoll: quirks.no_poll ?? false,
  };
}

function commandRateOf({ commands }: RegistrySetup, note: (problem: string) => void): CommandRate | undefined {
  if (commands === undefined) return undefined;
  const { per_minute: perMinute, per_second: perSecond } = commands;
  if (perMinute !== undefined && perSecond === undefined) return { commands: perMinute, perMs: 60_000 };
  if (perSecond !== undefined && perMinute === undefined) return { commands: perSecond, perMs: 1_000 };
  return void note('say `per_second` or `per_minute`, one of them');
}

function readEndpoint(text: string, note: (problem: string) => void): { host: string; port: number } | undefined {
  try {
    return parseEppUrl(text);
  } catch (error) {
    note(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

interface PasswordParts {
  readonly folder: string;
  readonly environment: Environment;
  readonly note: (problem: string) => void;
}

export async function passwordOf(
  { password }: Pick<RegistrySetup, 'password'>,
  { environment, folder, note }: PasswordParts,
): Promise<Pick<RegistryFileOptions, 'password' | 'passwordFile'> | undefined> {
  if ('env' in password) {
    const value = environment[password.env] ?? '';
    if (value !== '') return { password: value, passwordFile: undefined };
    note(`the environment has no ${password.env}`);
    return undefined;
  }
  const path = resolve(folder, password.file);
  try {
    await readPasswordFile(path);
    return { password: () => readPasswordFile(path), passwordFile: path };
  } catch (error) {
    note(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}
