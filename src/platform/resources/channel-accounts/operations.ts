import { defineAccount } from './define-account.ts';
import type { AccountDependencies } from './dependencies.ts';
import { telegramAccount } from './telegram.ts';

/** One line a kind. */
export function channelAccountOperations(deps: AccountDependencies) {
  return [...defineAccount(deps, telegramAccount(deps))];
}
