import { type Command, Option } from 'commander';
import type { Finish } from './command-error.ts';
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
      // Loaded when it is wanted: the other verbs start much faster without the whole platform.
      const { serve } = await import('./run-server.ts');
      finish(await serve(only === undefined ? SERVICES : [only], stop));
    });
}
