import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { smithOf } from '../../access/references.ts';
import { renderInboundEvent } from './render-inbound-event.ts';
import type { InboundEvent, InboundEventPath } from './schema.ts';
import { findInboundEvent } from './store.ts';

export async function getInboundEvent({
  db,
  caller,
  params,
}: ProjectRead<{ params: InboundEventPath }>): Promise<InboundEvent> {
  const row = await findInboundEvent(db, params.ievid, smithOf(caller));
  if (row === undefined) throw new ApiError('not_found');
  return renderInboundEvent(row);
}
