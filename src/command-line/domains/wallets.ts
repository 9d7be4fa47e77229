import { type Command, InvalidArgumentError } from 'commander';
import type { DomainVerbs } from '../../domains/operator/index.ts';
import { formatEuros } from '../../domains/prices/money.ts';
import type { AnswerOf } from '../../kernel/operator/index.ts';
import { ask } from './ask.ts';

const MAX_CENTS = 100_000_000;

interface TopUpOptions {
  readonly workspace?: string;
  readonly cents: number;
  readonly note: string;
  readonly json?: true;
}

interface ShowOptions {
  readonly workspace?: string;
  readonly json?: true;
}

export function addWallets(domains: Command): void {
  const wallet = domains
    .command('wallet')
    .helpCommand(false)
    .description('show and top up the wallets of workspaces, and list disputed payments');
  wallet
    .command('top-up')
    .summary('credit a wallet')
    .description('Credits a workspace’s wallet, for money that came another way. Each run credits again.')
    .option('--workspace <id|email>', 'the workspace, where there are several')
    .requiredOption('--cents <number>', 'how much, in cents of EUR', parseCents)
    .option('--note <text>', 'why, as the ledger keeps it', '')
    .option('--json', 'print the wallet, credited_cents and reference')
    .addHelpText('after', '\nExample:\n  ironcraft domains wallet top-up --workspace kim@example.com --cents 5000')
    .action(topUp);
  wallet
    .command('show')
    .summary('show a wallet')
    .description('Shows what a workspace can spend, what is held for its orders, and the last bookings.')
    .option('--workspace <id|email>', 'the workspace, where there are several')
    .option('--json', 'print {workspace_id, available_cents, held_cents, bookings}')
    .action(show);
  addDisputes(wallet);
}

function addDisputes(wallet: Command): void {
  wallet
    .command('disputes')
    .summary('list disputed payments')
    .description(
      'Lists payments by card that their holders have disputed at the bank, the newest first; at most 1,000.',
    )
    .option(
      '--json',
      'print {disputes: [{id, workspace_id, payment_id, amount_cents, state, created_at, available_cents}]}',
    )
    .action(listDisputes);
}

function parseCents(text: string): number {
  const cents = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (cents >= 1 && cents <= MAX_CENTS) return cents;
  throw new InvalidArgumentError(`Use a whole number of cents from 1 to ${MAX_CENTS}.`);
}

async function topUp({ workspace, cents, note, json }: TopUpOptions): Promise<void> {
  const answer = await ask('top_up', { ...(workspace === undefined ? {} : { workspace }), cents, note });
  print(json ? JSON.stringify(answer) : `${formatEuros(answer.credited_cents)} credited\n${describe(answer)}`);
}

async function show({ workspace, json }: ShowOptions): Promise<void> {
  const answer = await ask('show_wallet', workspace === undefined ? {} : { workspace });
  if (json) return print(JSON.stringify(answer));
  const bookings = answer.bookings.map(
    ({ at, kind, available_cents, held_cents, reference, description }) =>
      `  ${at}  ${kind.padEnd(8)}${formatEuros(available_cents).padStart(16)} available${formatEuros(held_cents).padStart(16)} held  ${reference}  ${description}`,
  );
  print([describe(answer), ...bookings.map((line) => line.trimEnd())].join('\n'));
}

async function listDisputes({ json }: { readonly json?: true }): Promise<void> {
  const answer = await ask('list_disputes', {});
  if (json) return print(JSON.stringify(answer));
  const lines = answer.disputes.map(
    ({ id, workspace_id, payment_id, amount_cents, state, created_at, available_cents }) =>
      `${created_at}  ${state.padEnd(4)}${formatEuros(amount_cents).padStart(16)}  ${workspace_id} (has ${formatEuros(available_cents)})  ${payment_id}  ${id}`,
  );
  print(lines.length === 0 ? 'No payment was disputed.' : lines.join('\n'));
}

function describe(wallet: Omit<AnswerOf<DomainVerbs, 'show_wallet'>, 'bookings'>): string {
  const { workspace_id, workspace_name, available_cents, held_cents } = wallet;
  return `${workspace_id} (${workspace_name}): ${formatEuros(available_cents)} available, ${formatEuros(held_cents)} held`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
