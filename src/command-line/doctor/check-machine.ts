/** What can be told without the database: the runtime, the environment, the data folder, the master key. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Config, ConfigError, loadConfig } from '../../kernel/config/config.ts';
import { exposesPrivateNetwork, PRIVATE_NETWORK_EXPOSED } from '../../kernel/config/exposure.ts';
import { loadMasterKeys } from '../../kernel/vault/load-master-keys.ts';
import { credentialsPath } from '../../platform/boot/credentials-file.ts';
import { hasMasterKey, masterKeyPath } from '../open-store.ts';
import { type Finding, failed, messageOf, ok, skipped, warning } from './finding.ts';

const NODE_MAJOR = 24;
const OTHERS_MAY_READ = 0o077;
const OTHERS_MAY_WRITE = 0o022;

export function checkNode(version: string = process.versions.node): Finding {
  return Number.parseInt(version, 10) >= NODE_MAJOR
    ? ok('node', `Node ${version}`)
    : failed(
        'node',
        `Node ${version} is too old`,
        `Run through npm (npm start, npm run ironcraft), which brings Node ${NODE_MAJOR}.`,
      );
}

/** The configuration, undefined when it has problems. */
export function checkEnvironment(): { config: Config | undefined; findings: Finding[] } {
  try {
    const config = loadConfig();
    const strangers = config.unknownVariables.map((name) =>
      warning('environment', `${name} is no setting`, 'Correct the name or remove it; --help lists every setting.'),
    );
    return { config, findings: strangers.length > 0 ? strangers : [ok('environment', 'every setting is valid')] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.problems.map((problem) =>
      failed('environment', problem, 'Correct it in the environment or in .env; --help lists every setting.'),
    );
    return { config: undefined, findings };
  }
}

/** What tenants may make the server call. */
export function checkOutbound(config: Config): Finding {
  if (exposesPrivateNetwork(config)) {
    return warning('outbound', PRIVATE_NETWORK_EXPOSED.problem, PRIVATE_NETWORK_EXPOSED.fix);
  }
  if (config.modelPrivateAddresses === 'allow') {
    return ok('outbound', 'models at public and private addresses; this machine alone reaches the server');
  }
  const opened = config.outboundAllow.join(', ');
  return ok('outbound', `models at public addresses${opened === '' ? ' alone' : `, and what is opened: ${opened}`}`);
}

export async function checkDataFolder({ dataDir }: Pick<Config, 'dataDir'>): Promise<Finding[]> {
  const folder = await modeOf(dataDir);
  if (folder === undefined) return [await checkParent(dataDir)];
  if (!(await isWritable(dataDir))) {
    const fix = 'Give the folder to the user that runs the server (chown), or set IRONCRAFT_DATA_DIR to another one.';
    return [failed('data folder', `${dataDir} cannot be written by this user`, fix)];
  }
  return [checkFolderMode(dataDir, folder), ...(await checkCredentialsMode(dataDir))];
}

async function checkParent(dataDir: string): Promise<Finding> {
  let parent = dirname(dataDir);
  while ((await modeOf(parent)) === undefined && parent !== dirname(parent)) parent = dirname(parent);
  return (await isWritable(parent))
    ? skipped('data folder', `${dataDir} is not there yet: the first start makes it`)
    : failed(
        'data folder',
        `${dataDir} cannot be made: ${parent} cannot be written by this user`,
        'Make the folder and give it to the user that runs the server, or set IRONCRAFT_DATA_DIR to another one.',
      );
}

function checkFolderMode(dataDir: string, mode: number): Finding {
  const fix = `Run: chmod 700 '${dataDir}'`;
  if ((mode & OTHERS_MAY_WRITE) !== 0) return failed('data folder', `other users may write ${dataDir}`, fix);
  if ((mode & OTHERS_MAY_READ) !== 0) return warning('data folder', `other users may look into ${dataDir}`, fix);
  return ok('data folder', dataDir);
}

async function checkCredentialsMode(dataDir: string): Promise<Finding[]> {
  const path = credentialsPath(dataDir);
  const mode = await modeOf(path);
  if (mode === undefined) return [];
  return (mode & OTHERS_MAY_READ) === 0
    ? [ok('credentials', path)]
    : [
        failed(
          'credentials',
          `other users may read ${path}`,
          `Run: chmod 600 '${path}', and mint new tokens if others have read it.`,
        ),
      ];
}

export async function checkMasterKey(config: Config): Promise<Finding> {
  if (!hasMasterKey(config)) {
    return skipped('master key', `${masterKeyPath(config)} is not there yet: the first start makes it`);
  }
  const source = config.masterKeys.length > 0 ? 'IRONCRAFT_MASTER_KEY' : masterKeyPath(config);
  try {
    const keys = await loadMasterKeys(config);
    return ok('master key', keys.length === 1 ? source : `${source}: the first of ${keys.length} encrypts`);
  } catch (error) {
    return failed(
      'master key',
      messageOf(error),
      'Restore the file from a backup, or set its key as IRONCRAFT_MASTER_KEY.',
    );
  }
}

/** Permission bits; undefined when there is no such file, 0 where the system keeps none that mean anything. */
async function modeOf(path: string): Promise<number | undefined> {
  try {
    const { mode } = await stat(path);
    return process.platform === 'win32' ? 0 : mode & 0o777;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}
