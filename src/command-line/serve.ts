import { type Command, Option } from 'commander';
import { loadConfig } from '../kernel/config/config.ts';
import type { Finish } from './command-error.ts';
import { isOneOfSeveral } from './processes/join-processes.ts';
import { SERVICES, type Service } from './service-name.ts';
import type { StopSignals } from './stop-signals.ts';

export function addServe(program: Command, finish: Finish, stop: StopSignals | undefined): void {
  program
    .command('serve')
    .summary('run the server')
    .description(
      'Runs the agent platform and the domain service until SIGTERM or SIGINT. Brings the database up to date first; the first start on an empty one also makes an ' +
        'organization, a project and credentials.json in the data folder. JSON logs go to standard error. The first signal drains ' +
        'the server, or gives up its start; a second one ends it at once.',
    )
    .addOption(new Option('--only <service>', 'run this service alone').choices(SERVICES))
    .action(async ({ only }: { only?: Service }) => {
      const services = only === undefined ? SERVICES : [only];
      // Loaded when it is wanted: the other verbs, and a process that only starts others, do without the whole platform.
      const { serve } = startsOthers() ? await import('./processes/run-processes.ts') : await import('./run-server.ts');
      finish(await serve(services, stop));
    });
}

/** Whether the settings ask for several processes, and this is none of them yet. */
function startsOthers(): boolean {
  return !isOneOfSeveral() && loadConfig().processes > 1;
}
