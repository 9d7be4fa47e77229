import type { Command } from 'commander';
import { ENVIRONMENT } from '../kernel/config/environment.ts';

const WIDTH = 100;
const INDENT = '      ';

export function addEnvironment(program: Command): void {
  program
    .command('environment')
    .summary('list the settings')
    .description('Prints every variable that the program reads, with its default and what it means.')
    .action(() => {
      process.stdout.write(`${environmentTable()}\n`);
    });
}

/** One entry a variable: name and default, its meaning below. */
function environmentTable(): string {
  const entries = ENVIRONMENT.map(({ name, default: fallback, meaning }) => {
    const title = fallback === '' ? `  ${name}` : `  ${name} (${fallback})`;
    return [title, ...wrap(`${meaning}.`)].join('\n');
  });
  return ['Environment, also read from .env in the working folder (defaults in brackets):', ...entries].join('\n');
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = INDENT;
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > WIDTH && line !== INDENT) {
      lines.push(line);
      line = INDENT;
    }
    line += line === INDENT ? word : ` ${word}`;
  }
  return [...lines, line];
}
