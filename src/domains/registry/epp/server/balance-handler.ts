/** A registrar's account at the registry. */
import { balanceElement } from '../commands/balance.ts';
import { type Answer, answerOf, type CommandContext } from './answers.ts';

export async function answerBalance({ core, session }: CommandContext): Promise<Answer> {
  return answerOf(await core.readBalance(session), (balance) => ({ data: balanceElement(balance) }));
}
