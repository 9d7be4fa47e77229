import { ApiError } from '../../../kernel/http/errors.ts';
import { project } from '../../access/operation.ts';
import type { Catalog } from './catalog.ts';
import { CatalogEntry, CatalogList, CatalogPath } from './schema.ts';

export function catalogOperations({ catalog }: { readonly catalog: Catalog }) {
  return [
    project.read({
      id: 'catalog.list',
      method: 'GET',
      path: '/v1/catalog',
      posture: 'any',
      summary: 'List MCP servers that can be registered by a slug',
      description: 'Public servers, and those that the operator of this server has added.',
      reply: CatalogList,
      handler: async () => ({ data: [...catalog.entries] }),
    }),
    project.read({
      id: 'catalog.get',
      method: 'GET',
      path: '/v1/catalog/{slug}',
      posture: 'any',
      summary: 'Get an entry of the catalog',
      params: CatalogPath,
      reply: CatalogEntry,
      errors: ['unknown_catalog_entry'],
      handler: async ({ params }) => {
        const entry = catalog.find(params.slug);
        if (entry === undefined) throw new ApiError('unknown_catalog_entry');
        return entry;
      },
    }),
  ];
}
