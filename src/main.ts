#!/usr/bin/env -S node --max-semi-space-size=16
import { runProgram } from './command-line/program.ts';

const exitCode = await runProgram(process.argv.slice(2));
// Once what was printed has been written, nothing that is still open keeps a finished command alive.
process.stdout.write('', () => process.exit(exitCode));
