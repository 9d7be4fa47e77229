/** The verbs of the domain service. */
import type { Command } from 'commander';
import { addEppServer } from './epp-server.ts';
import { addMessages } from './messages.ts';
import { addNames } from './names.ts';
import { addOrders } from './orders.ts';
import { addTokens } from './tokens.ts';
import { addWallets } from './wallets.ts';

export function addDomains(program: Command): void {
  const domains = program.command('domains').helpCommand(false).description('operate the domain registration service');
  addTokens(domains);
  addWallets(domains);
  addNames(domains);
  addOrders(domains);
  addMessages(domains);
  addEppServer(domains);
}
