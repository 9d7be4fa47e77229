/** Public MCP servers that can be registered by a slug. */
import type { Static } from 'typebox';
import { component, nullable, oneOf } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const texts = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 500 });
const address = Type.String({ maxLength: 2_048, pattern: '^https://' });

export const CatalogEntry = component(
  'CatalogEntry',
  Type.Object(
    {
      slug: Type.String({ pattern: '^[a-z0-9_-]{1,63}$' }),
      display_name: Type.String({ minLength: 1, maxLength: 200 }),
      description: Type.String({ maxLength: 2_000 }),
      mcp_url: Type.String({ maxLength: 2_048, pattern: '^https?://' }),
      auth: Type.Object(
        {
          kind: oneOf(['none', 'bearer', 'oauth']),
          provider: nullable(Type.String({ minLength: 1, maxLength: 64 })),
          client_mode: oneOf(['none', 'auto', 'registered', 'dynamic', 'metadata_document']),
        },
        { additionalProperties: false },
      ),
      scopes: texts,
      default_allowlist: nullable(texts, { description: 'Null: every tool.' }),
      default_approval_policy: Type.Array(
        Type.Object(
          { match: Type.String({ minLength: 1, maxLength: 256 }), require: oneOf(['always', 'never']) },
          { additionalProperties: false },
        ),
        { maxItems: 100 },
      ),
      logo_url: nullable(address),
      docs_url: nullable(address),
    },
    { additionalProperties: false },
  ),
);

/** A fixed-size list: bare `{data}`. */
export const CatalogList = component('CatalogList', Type.Object({ data: Type.Array(CatalogEntry) }));

export const CatalogPath = Type.Object({ slug: Type.String() });

export type CatalogEntry = Static<typeof CatalogEntry>;
export type CatalogPath = Static<typeof CatalogPath>;
