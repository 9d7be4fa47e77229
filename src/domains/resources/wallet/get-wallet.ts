import { HttpReply } from '../../../kernel/http/operation.ts';
import { NOT_KEPT } from '../../list-page.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { readWallet } from '../../wallet/index.ts';
import type { WalletBalance } from './schema.ts';

export async function getWallet({ caller, db }: WorkspaceRead): Promise<HttpReply<WalletBalance>> {
  const { availableCents, heldCents } = await readWallet(db, caller.workspaceId);
  const balance: WalletBalance = { available_cents: availableCents, held_cents: heldCents, currency: 'EUR' };
  return new HttpReply(200, balance, NOT_KEPT);
}
