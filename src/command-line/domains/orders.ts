import type { Command } from 'commander';
import type { DomainVerbs } from '../../domains/operator/index.ts';
import { formatEuros } from '../../domains/prices/money.ts';
import type { AnswerOf } from '../../kernel/operator/index.ts';
import { ask } from './ask.ts';

interface Options {
  readonly json?: true;
}

interface EndOptions extends Options {
  readonly reason: string;
}

type Order = AnswerOf<DomainVerbs, 'show_order'>;

export function addOrders(domains: Command): void {
  const order = domains.command('order').helpCommand(false).description('see to orders that do not end by themselves');
  order
    .command('list')
    .summary('list orders that need attention')
    .description('Lists the orders whose end the registry has not told for too long, the oldest need first.')
    .option('--json', 'print {orders}')
    .action(list);
  order
    .command('show')
    .argument('<id>', 'ord_...')
    .summary('show an order')
    .description('Shows an order: its state, what it costs, how often the registry was asked, and what is wrong.')
    .option('--json', 'print the order')
    .action(async (id: string, { json }: Options) => print(await ask('show_order', { id }), json));
  order
    .command('retry')
    .argument('<id>', 'ord_...')
    .summary('look at an order now')
    .description(
      'Has the order looked at with the next sweep of a running server, and takes it off the list until it needs attention again.',
    )
    .option('--json', 'print the order')
    .action(async (id: string, { json }: Options) => print(await ask('retry_order', { id }), json));
  order
    .command('cancel')
    .argument('<id>', 'ord_...')
    .summary('end an order that the registry has not done')
    .description(
      'Ends the order as failed: what is held for it goes back to the wallet or the card. Ask the registry first.',
    )
    .requiredOption('--reason <text>', 'why, as the order keeps it')
    .option('--json', 'print the order')
    .action((id: string, options: EndOptions) => end(id, 'failed', options));
  order
    .command('complete')
    .argument('<id>', 'ord_...')
    .summary('end an order that the registry has done')
    .description(
      'Ends the order as completed: what is held for it is taken, and the name is read with the next sweep. Ask the registry first.',
    )
    .requiredOption('--reason <text>', 'why, as the order keeps it')
    .option('--json', 'print the order')
    .action((id: string, options: EndOptions) => end(id, 'completed', options));
}

async function list({ json }: Options): Promise<void> {
  const answer = await ask('orders_needing_attention', {});
  if (json) return void process.stdout.write(`${JSON.stringify(answer)}\n`);
  const lines = answer.orders.map(describe);
  process.stdout.write(`${lines.length === 0 ? 'No order needs attention.' : lines.join('\n')}\n`);
}

async function end(id: string, how: 'completed' | 'failed', { reason, json }: EndOptions): Promise<void> {
  print(await ask('end_order', { id, end: how, reason }), json);
}

function print(order: Order, json: true | undefined): void {
  process.stdout.write(`${json ? JSON.stringify(order) : describe(order)}\n`);
}

function describe(order: Order): string {
  const parts = [
    `${order.id}  ${order.kind} of ${order.name} for ${order.workspace_id}: ${order.state}, ${formatEuros(order.amount_cents)} by ${order.paid_with}`,
    `made ${order.created_at}, asked of the registry ${order.submissions} times`,
    ...(order.application_id === null ? [] : [`application ${order.application_id}`]),
    ...(order.claims_notice === null
      ? []
      : [`claims notice ${order.claims_notice.id} accepted ${order.claims_notice.accepted_at}`]),
    ...(order.notice_until === null ? [] : [`waits for a claims notice to be accepted until ${order.notice_until}`]),
    ...(order.attention_reason === null
      ? []
      : [`needs attention since ${order.attention_since}: ${order.attention_reason}`]),
    ...(order.error === null ? [] : [order.error]),
    ...(order.registry_said === null ? [] : [`the registry said: ${order.registry_said}`]),
    ...(order.settled_by_hand === null ? [] : [`ended by hand: ${order.settled_by_hand}`]),
  ];
  return parts.join('; ');
}
