import { WrittenJson } from '../../../kernel/http/operation.ts';
import type { WorkspaceRead } from '../../operation.ts';
import type { ZonePath } from './schema.ts';
import type { ReadZone } from './zone-reader.ts';

export function listRecords(readZone: ReadZone) {
  return async ({ caller, params, headers }: WorkspaceRead<{ params: ZonePath }>): Promise<WrittenJson> => {
    const json = await readZone({ workspaceId: caller.workspaceId, name: params.name });
    const { bytes, encoding } = await json.bytesFor(headers['accept-encoding']);
    return new WrittenJson(bytes, 200, {
      'cache-control': 'private, no-store',
      ...(encoding === undefined ? {} : { 'content-encoding': encoding, vary: 'accept-encoding' }),
    });
  };
}
