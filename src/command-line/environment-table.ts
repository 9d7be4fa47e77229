/** The environment as `--help` shows it. */
import { ENVIRONMENT } from '../kernel/config/environment.ts';

const WIDTH = 100;
const INDENT = '      ';

/** One entry a variable: name and default, its meaning below. */
export function environmentTable(): string {
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
