/** UI resources of an agent: HTML documents that show what its turns do, and the tools by which a model asks for them. */
import type { Static } from 'typebox';
import {
  boundedObject,
  closedObject,
  component,
  failsWith,
  jsonObject,
  MAX_JSON_BYTES,
  missingFailsWith,
  nullable,
  oneOf,
} from '../../../../kernel/http/schema.ts';
import { Type } from '../../../../kernel/http/type-builder.ts';
import { UiResource, versionNumber } from '../../../configuration/schema.ts';

/** Of one origin, with its scheme. */
const MAX_ORIGIN_LENGTH = 300;
const MAX_ORIGINS = 50;
/** Of JSON in UTF-8. */
export const MAX_TOOL_BYTES = 65_536;
const MAX_PERMISSIONS = { members: 32, bytes: 4_096 };
const MAX_DESCRIPTION_LENGTH = 4_096;
const MAX_INSTRUCTION_LENGTH = 16_384;

/** A host name, the first label of which may be `*`, and a port. */
const HOST =
  '(\\*\\.)?([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)*[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(:[0-9]{1,5})?';

function originsOf(schemes: string, description: string) {
  const origin = Type.String({ maxLength: MAX_ORIGIN_LENGTH, pattern: `^(${schemes})://${HOST}$` });
  return Type.Optional(Type.Array(origin, { maxItems: MAX_ORIGINS, uniqueItems: true, description }));
}

const csp = nullable(
  closedObject({
    connectDomains: originsOf('https|wss', 'Origins that its scripts may send requests and open sockets to.'),
    resourceDomains: originsOf('https', 'Origins of its scripts, styles, images, fonts and media.'),
    frameDomains: originsOf('https', 'Origins of pages that it may hold in frames.'),
    baseUriDomains: originsOf('https', 'Origins that its `base` may name.'),
  }),
  { description: 'Origins such as `https://api.example.com` or `https://*.example.com`. Absent: it reaches none.' },
);

const tool = nullable(
  closedObject(
    {
      description: Type.String({ minLength: 1, maxLength: MAX_DESCRIPTION_LENGTH }),
      input_schema: Type.Optional(jsonObject({ description: 'JSON Schema of the arguments. Absent: it takes none.' })),
      instruction: Type.Optional(
        nullable(Type.String({ maxLength: MAX_INSTRUCTION_LENGTH }), {
          description: 'What the model is told once it has called the tool.',
        }),
      ),
      mutating: Type.Optional(
        Type.Boolean({ default: false, description: 'A call of unknown outcome is not made again.' }),
      ),
      visibility: Type.Optional(
        Type.Array(oneOf(['model', 'app']), {
          uniqueItems: true,
          description: 'Who may call it; both unless given. Without `model` turns do not offer it.',
        }),
      ),
    },
    { [MAX_JSON_BYTES]: MAX_TOOL_BYTES },
  ),
  {
    description: `Makes it a tool of the agent’s turns, by its \`name\`. At most ${MAX_TOOL_BYTES} bytes of JSON in UTF-8.`,
  },
);

export const UiResourceFields = closedObject({
  name: Type.String({
    pattern: '^[A-Za-z0-9_-]{1,64}$',
    description: 'Its name in the agent, and that of its tool. A resource of the draft with this name is replaced.',
    ...failsWith('invalid_name'),
    ...missingFailsWith('name_required'),
  }),
  csp: Type.Optional(csp),
  permissions: Type.Optional(nullable(boundedObject(MAX_PERMISSIONS, 'What it asks of the browser.'))),
  prefers_border: Type.Optional(nullable(Type.Boolean())),
  domain: Type.Optional(
    nullable(Type.String({ maxLength: MAX_ORIGIN_LENGTH, pattern: `^(https://)?${HOST}$` }), {
      description: 'The host name that it would be shown under.',
    }),
  ),
  tool: Type.Optional(tool),
});

/** The fields whose text is JSON. */
export const JSON_FIELDS = ['csp', 'permissions', 'prefers_border', 'domain', 'tool'] as const;

export const UiResourceList = component('UiResourceList', Type.Object({ data: Type.Array(UiResource) }));

export const UiResourcePath = Type.Object({ aid: Type.String(), name: Type.String() });

export const UiResourceQuery = Type.Object({
  version: Type.Optional(
    Type.Unsafe<number>({ ...versionNumber, description: 'A published version of the agent. Absent: its draft.' }),
  ),
});

export type UiResourceFields = Static<typeof UiResourceFields>;
export type UiResourceList = Static<typeof UiResourceList>;
export type UiResourcePath = Static<typeof UiResourcePath>;
export type UiResourceQuery = Static<typeof UiResourceQuery>;
