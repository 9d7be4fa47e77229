import { type Command, InvalidArgumentError } from 'commander';
import { ask } from './ask.ts';

interface Options {
  readonly json?: true;
}

export function addMessages(domains: Command): void {
  const message = domains
    .command('message')
    .helpCommand(false)
    .description('read what the registry has said and nothing follows from by itself');
  message
    .command('list')
    .summary('list messages of the registry that wait for you')
    .description(
      'Lists the messages of the registry’s queue that are not understood here, in the order in which they came: such as announcements of ' +
        'maintenance, or cannot be read. They are acknowledged at the registry, and kept here until they are dismissed. A queue whose ' +
        'oldest message cannot be read, or not be removed, is named first: have its registry remove that.',
    )
    .option('--json', 'print {messages, unreadable}')
    .action(listMessages);
  message
    .command('dismiss')
    .argument('<number>', 'the number of a listed message', parseNumber)
    .summary('say that a message is seen to')
    .description('Says that a message is seen to: it is listed and counted no more.')
    .option('--json', 'print {number}')
    .action(dismiss);
}

function parseNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Use the number that `domains message list` shows.');
}

async function listMessages({ json }: Options): Promise<void> {
  const answer = await ask('unknown_messages', {});
  if (json) return print(JSON.stringify(answer));
  const { messages, unreadable } = answer;
  if (messages.length + unreadable.length === 0) return print('No message waits for you.');
  const queues = unreadable.map(
    ({ problem, registry, since }) => `The queue of ${registry} has stood still since ${since}: ${problem}`,
  );
  const lines = messages.map(({ number, registry, queued_at: queuedAt, name, text, times }) => {
    const said = times === 1 ? text : `${text} (${times} times)`;
    return [number, registry, queuedAt, name, said].filter((part) => part !== '').join('  ');
  });
  print([...queues, ...lines].join('\n'));
}

async function dismiss(number: number, { json }: Options): Promise<void> {
  const dismissed = await ask('dismiss_message', { number });
  print(json ? JSON.stringify(dismissed) : `message ${dismissed.number} is dismissed`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
