#!/usr/bin/env -S MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072 node --max-semi-space-size=16
import { cacheCompiledCode } from './command-line/compiled-code.ts';
import { isOneOfSeveral } from './command-line/processes/join-processes.ts';
import { reportStep } from './command-line/startup-steps.ts';
import { listenForStop } from './command-line/stop-signals.ts';

const args = process.argv.slice(2);
// Before the program is loaded, which takes a while: a signal finds somebody who ends the start cleanly.
const stop = args[0] === 'serve' ? listenForStop() : undefined;
if (stop !== undefined && !isOneOfSeveral() && !args.includes('--help')) reportStep('starting');
cacheCompiledCode();
const { runProgram } = await import('./command-line/program.ts');
const exitCode = await runProgram(args, stop);
// Once what was printed has been written, nothing that is still open keeps a finished command alive.
process.stdout.write('', () => process.exit(exitCode));
