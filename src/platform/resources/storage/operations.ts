import { project } from '../../access/operation.ts';
import { type FileLimits, readUsedBytes } from '../files/index.ts';
import { Storage } from './schema.ts';

export function storageOperations({ config }: { readonly config: Pick<FileLimits, 'projectStorageBytes'> }) {
  return [
    project.read({
      id: 'tenant.storage.get',
      method: 'GET',
      path: '/v1/tenant/storage',
      posture: 'tenant',
      scope: 'usage:read',
      summary: 'Get what the project stores',
      description:
        'What the files and the vector stores (their `usage_bytes`) of the project take, and how much they may. A file ' +
        'that does not fit is refused with `payload_too_large`; one whose text and vectors do not fit into a store is ' +
        '`failed` there.',
      reply: Storage,
      handler: async ({ db }) => ({
        object: 'storage' as const,
        used_bytes: await readUsedBytes(db),
        limit_bytes: config.projectStorageBytes,
      }),
    }),
  ];
}
