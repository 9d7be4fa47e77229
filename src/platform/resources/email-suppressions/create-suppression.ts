import type { ProjectChange } from '../../access/operation.ts';
import { suppressAddress } from '../../channels/index.ts';
import { renderSuppression } from './render-suppression.ts';
import { requireAddress } from './require-address.ts';
import type { Suppression, SuppressionIn } from './schema.ts';

export async function createSuppression({ tx, body }: ProjectChange<{ body: SuppressionIn }>): Promise<Suppression> {
  const { row } = await suppressAddress(tx, requireAddress(body.address), body.reason ?? null);
  return renderSuppression(row);
}
