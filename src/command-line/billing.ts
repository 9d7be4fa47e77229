/** The verbs of the organizations' wallets. */
import { type Command, InvalidArgumentError } from 'commander';
import { loadConfig } from '../kernel/config/config.ts';
import { MAX_CENTS, MAX_CODES, MAX_NAME_LENGTH } from '../platform/operator/index.ts';
import { askPlatform } from './ask-platform.ts';
import { CommandError, EXIT_USAGE } from './command-error.ts';

interface MintOptions {
  readonly amountCents: number;
  readonly count: number;
  readonly expires?: string;
  readonly json?: true;
}

interface AdjustOptions {
  readonly organization?: string;
  readonly cents: number;
  readonly note: string;
  readonly json?: true;
}

export function addBilling(billing: Command): void {
  const code = billing.command('code').helpCommand(false).description('codes that are worth credits');
  code
    .command('mint')
    .summary('mint redeem codes')
    .description(
      'Mints codes and prints them, once, a line each. Each is redeemed once, with POST /v1/organization/billing/redeem. ' +
        'What is stored is their hash.',
    )
    .requiredOption(
      '--amount-cents <number>',
      'what each is worth, in cents of IRONCRAFT_BILLING_CURRENCY',
      parseAmount,
    )
    .option('--count <number>', `how many, 1 to ${MAX_CODES}`, parseCount, 1)
    .option(
      '--expires <date>',
      'until when they can be redeemed, such as 2030-01-31 (its beginning in UTC); default: for ever',
      parseExpiry,
    )
    .option('--json', 'print {codes}')
    .addHelpText(
      'after',
      '\nExample:\n  ironcraft billing code mint --amount-cents 2500 --count 10 --expires 2030-01-31',
    )
    .action(mint);
  billing
    .command('adjust')
    .summary('correct a wallet')
    .description(
      'Adds to an organization’s wallet, or takes from it, as a ledger entry of its own. Each run books again.',
    )
    .option('--organization <id|name>', 'the organization, where there are several')
    .requiredOption('--cents <number>', 'how much, in cents; below zero to take it away', parseCorrection)
    .option('--note <text>', 'why, as the organization’s ledger shows it', '')
    .option('--json', 'print {organization_id, organization_name, balance_cents}')
    .addHelpText(
      'after',
      '\nExample:\n  ironcraft billing adjust --organization org_... --cents=-250 --note "counted twice"',
    )
    .action(adjust);
}

async function mint({ amountCents, count, expires, json }: MintOptions): Promise<void> {
  const request = { amount_cents: amountCents, count, expires_at: expires ?? null };
  const answer = await askPlatform('mint_codes', request);
  process.stdout.write(json ? `${JSON.stringify(answer)}\n` : answer.codes.map((code) => `${code}\n`).join(''));
}

async function adjust({ organization, cents, note, json }: AdjustOptions): Promise<void> {
  if (note.length > MAX_NAME_LENGTH) {
    throw new CommandError(`--note has at most ${MAX_NAME_LENGTH} characters.`, { exitCode: EXIT_USAGE });
  }
  const { currency } = loadConfig().billing;
  const named = organization === undefined ? {} : { organization };
  const answer = await askPlatform('adjust_wallet', { ...named, amount_cents: cents, currency, note });
  const { organization_id, organization_name, balance_cents } = answer;
  const shown = `${organization_id} (${organization_name}): ${balance_cents} cents of ${currency}`;
  process.stdout.write(`${json ? JSON.stringify(answer) : shown}\n`);
}

function parseAmount(text: string): number {
  const cents = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (cents >= 1 && cents <= MAX_CENTS) return cents;
  throw new InvalidArgumentError(`Use a whole number of cents from 1 to ${MAX_CENTS}.`);
}

function parseCorrection(text: string): number {
  const cents = /^[-+]?\d{1,9}$/.test(text) ? Number(text) : 0;
  if (cents !== 0 && Math.abs(cents) <= MAX_CENTS) return cents;
  throw new InvalidArgumentError(`Use a whole number of cents up to ${MAX_CENTS}, not 0; --cents=-250 takes away.`);
}

function parseCount(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= MAX_CODES) return count;
  throw new InvalidArgumentError(`Use a number from 1 to ${MAX_CODES}.`);
}

function parseExpiry(text: string): string {
  const at = new Date(text);
  if (!/^\d{4}-\d{2}-\d{2}(T|$)/.test(text) || Number.isNaN(at.getTime())) {
    throw new InvalidArgumentError('Use a date such as 2030-01-31, or 2030-01-31T12:00:00Z.');
  }
  if (at.getTime() <= Date.now()) throw new InvalidArgumentError('That is over. Use a date to come.');
  return at.toISOString();
}
