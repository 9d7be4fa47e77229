/** The registries of the file: who they are, and their passwords. */
import type { Command } from 'commander';
import type { RegistryFileOptions } from '../../domains/boot/setup/registry-options.ts';
import { loadConfig } from '../../kernel/config/config.ts';
import { readEnvironment } from '../../kernel/config/read-environment.ts';
import { CommandError } from '../command-error.ts';

interface Options {
  readonly json?: true;
}

export function addRegistries(domains: Command): void {
  const registry = domains
    .command('registry')
    .helpCommand(false)
    .description('see to the registries of IRONCRAFT_DOMAINS_CONFIG_FILE');
  registry
    .command('list')
    .summary('list the registries, and the TLDs that each sells')
    .description(
      'Lists the registries of the file, where they are, and what they sell. `doctor` tries whether they take the login.',
    )
    .option('--json', 'print {registries}')
    .action(list);
  registry
    .command('password')
    .argument('<id>', 'a registry of the file')
    .summary('change the password of a registry account')
    .description(
      'Has the registry change the password to a new one, and puts it into the password’s file. Running servers read it at their next ' +
        'login. The new one is written down before the registry is told: a call that was cut off is finished by the next.',
    )
    .action(changePassword);
}

async function readRegistries(): Promise<readonly RegistryFileOptions[]> {
  const { configFile } = loadConfig().domains;
  if (configFile === undefined) throw new CommandError('Set IRONCRAFT_DOMAINS_CONFIG_FILE to the file of registries.');
  const { readSetup } = await import('../../domains/boot/setup/read-setup.ts');
  return (await readSetup(configFile, readEnvironment())).registries;
}

async function list({ json }: Options): Promise<void> {
  const registries = (await readRegistries()).map(({ clientId, host, id, port, zones }) => ({
    id,
    endpoint: `epps://${host}:${port}`,
    client_id: clientId,
    tlds: zones,
  }));
  if (json) return print(JSON.stringify({ registries }));
  for (const { id, client_id: clientId, endpoint, tlds } of registries) {
    print(`${id}  ${endpoint} as ${clientId}, sells ${tlds.join(', ')}`);
  }
}

async function changePassword(id: string): Promise<void> {
  const registries = await readRegistries();
  const found = registries.find((registry) => registry.id === id);
  if (found === undefined) throw new CommandError(`The file has no registry ${id}.`);
  const { passwordFile } = found;
  if (passwordFile === undefined) {
    throw new CommandError(`The password of ${id} is in the environment. Put it into a file to have it changed here.`);
  }
  const { rotatePassword } = await import('../../domains/boot/setup/rotate-password.ts');
  try {
    const done = await rotatePassword({ endpoint: found, passwordFile });
    print(
      `${id} has its new password${done === 'finished' ? ', of a change that was begun before' : ''}; it is in ${passwordFile}`,
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`The password of ${id} may not have been changed: ${reason}. Repeat the call.`, {
      cause: error,
    });
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
