import type { Command } from 'commander';
import { scrubText } from '../kernel/log/redact.ts';
import { EXIT_FAILURE, type Finish } from './command-error.ts';
import { checkDataFolder, checkEnvironment, checkMasterKey, checkNode, checkOutbound } from './doctor/check-machine.ts';
import { checkProviders } from './doctor/check-providers.ts';
import { checkRegistries } from './doctor/check-registries.ts';
import { checkSandbox } from './doctor/check-sandbox.ts';
import { checkServer } from './doctor/check-server.ts';
import { checkStore } from './doctor/check-store.ts';
import type { Finding } from './doctor/finding.ts';

export function addDoctor(program: Command, finish: Finish): void {
  program
    .command('doctor')
    .summary('find out what is wrong and how to fix it')
    .description(
      'Checks the runtime, the environment, what models may be called, the sandbox of commands, the registries of the domain service and its service of notices, card payments, mail and secondaries where they are configured, the data folder, the master key, the port, the database (reachable, writable, version, ' +
        'pgvector, migrations, clock) and the signing keys. Changes nothing. The exit code is 1 when a check fails. ' +
        'While a server holds the embedded database, that server is asked over HTTP instead.',
    )
    .option('--json', 'print {ok, findings: [{check, status, detail, fix}]}')
    .action(async ({ json }: { json?: true }) => {
      const findings = await examine();
      const isWell = findings.every(({ status }) => status !== 'failed');
      const report = json ? `${JSON.stringify({ ok: isWell, findings })}\n` : render(findings);
      process.stdout.write(scrubText(report));
      if (!isWell) finish(EXIT_FAILURE);
    });
}

async function examine(): Promise<Finding[]> {
  const { config, findings } = checkEnvironment();
  const first = [checkNode(), ...findings];
  if (config === undefined) return first;
  const server = await checkServer(config);
  return [
    ...first,
    checkOutbound(config),
    ...(await checkDataFolder(config)),
    await checkMasterKey(config),
    ...server.findings,
    await checkSandbox(config),
    ...(await checkRegistries(config)),
    ...(await checkProviders(config)),
    ...(await checkStore(config, server.serves)),
  ];
}

const LABEL = { ok: 'ok', warning: 'WARNING', failed: 'FAILED', skipped: '-' } as const;

function render(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ check, status, detail, fix }) => [
    `${LABEL[status].padEnd(8)}${check.padEnd(14)}${detail}`,
    ...(fix === undefined ? [] : [`${' '.repeat(22)}→ ${fix}`]),
  ]);
  const count = (wanted: Finding['status']) => findings.filter(({ status }) => status === wanted).length;
  const [problems, warnings] = [count('failed'), count('warning')];
  const verdict = problems + warnings === 0 ? 'Nothing is wrong.' : `${problems} problem(s), ${warnings} warning(s).`;
  return `${[...lines, '', verdict].join('\n')}\n`;
}
