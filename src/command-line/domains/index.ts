/** The verbs of the domain service. */
import type { Command } from 'commander';
import type { Finish } from '../command-error.ts';
import { addDnssec } from './dnssec.ts';
import { addEppServer } from './epp-server.ts';
import { addEscrow } from './escrow.ts';
import { addMessages } from './messages.ts';
import { addNames } from './names.ts';
import { addOrders } from './orders.ts';
import { addPortfolio } from './portfolio.ts';
import { addRegistrants } from './registrants.ts';
import { addRegistries } from './registries.ts';
import { addTokens } from './tokens.ts';
import { addWallets } from './wallets.ts';

export function addDomains(program: Command, finish: Finish): void {
  const domains = program.command('domains').helpCommand(false).description('operate the domain registration service');
  addTokens(domains);
  addWallets(domains);
  addNames(domains);
  addRegistrants(domains);
  addOrders(domains);
  addDnssec(domains);
  addMessages(domains);
  addPortfolio(domains, finish);
  addRegistries(domains, finish);
  addEscrow(domains);
  addEppServer(domains);
}
