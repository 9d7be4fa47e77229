/** Every member that OpenAI's SDK can send is used, refused or named as a hint: docs/openai-members.md says which. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { UNUSED_IN_COMPLETIONS, UNUSED_IN_RESPONSES } from '../../src/platform/surfaces/openai/index.ts';
import { startPlatform } from '../support/platform.ts';

/** The type of the SDK that says what a request may hold, by the operation's heading in the document. */
const types: Readonly<Record<string, readonly [file: string, name: string]>> = {
  'POST /v1/chat/completions': ['chat/completions/completions', 'ChatCompletionCreateParamsBase'],
  'POST /v1/responses': ['responses/responses', 'ResponseCreateParamsBase'],
  'GET /v1/responses/{id}': ['responses/responses', 'ResponseRetrieveParamsBase'],
  'GET /v1/responses/{id}/input_items': ['responses/input-items', 'InputItemListParams'],
  'POST /v1/conversations': ['conversations/conversations', 'ConversationCreateParams'],
  'POST /v1/conversations/{cnvId}': ['conversations/conversations', 'ConversationUpdateParams'],
  'POST /v1/conversations/{cnvId}/items': ['conversations/items', 'ItemCreateParams'],
  'GET /v1/conversations/{cnvId}/items/{itemId}': ['conversations/items', 'ItemRetrieveParams'],
  'GET /v1/conversations/{cnvId}/items': ['conversations/items', 'ItemListParams'],
  'POST /v1/embeddings': ['embeddings', 'EmbeddingCreateParams'],
  'POST /v1/files': ['files', 'FileCreateParams'],
  'GET /v1/files': ['files', 'FileListParams'],
  'POST /v1/vector_stores': ['vector-stores/vector-stores', 'VectorStoreCreateParams'],
  'POST /v1/vector_stores/{vsId}': ['vector-stores/vector-stores', 'VectorStoreUpdateParams'],
  'GET /v1/vector_stores': ['vector-stores/vector-stores', 'VectorStoreListParams'],
  'POST /v1/vector_stores/{vsId}/search': ['vector-stores/vector-stores', 'VectorStoreSearchParams'],
  'POST /v1/vector_stores/{vsId}/files': ['vector-stores/files', 'FileCreateParams'],
  'POST /v1/vector_stores/{vsId}/files/{fid}': ['vector-stores/files', 'FileUpdateParams'],
  'GET /v1/vector_stores/{vsId}/files': ['vector-stores/files', 'FileListParams'],
  'POST /v1/vector_stores/{vsId}/file_batches': ['vector-stores/file-batches', 'FileBatchCreateParams'],
  'GET /v1/vector_stores/{vsId}/file_batches/{bid}/files': ['vector-stores/file-batches', 'FileBatchListFilesParams'],
};

const document = readFileSync(new URL('../../docs/openai-members.md', import.meta.url), 'utf8');
const platform = await startPlatform();
after(() => platform.close());
const project = await platform.createProject();
const smithId = await project.createSmith();
const headers = { 'ic-smith-id': smithId };

/** Members of an interface of the SDK's declarations; those that it inherits are the paging of lists. */
function membersOf(file: string, name: string): string[] {
  const source = declarationsOf(file);
  const body = new RegExp(`export interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(source)?.[1];
  assert.ok(body, `${file} has no ${name}`);
  return [...body.matchAll(/^ {4}'?(\w+)'?\??:/gm)].map((match) => match[1] ?? '');
}

function declarationsOf(file: string): string {
  return readFileSync(new URL(`../../node_modules/openai/resources/${file}.d.ts`, import.meta.url), 'utf8');
}

/** What the document says of each member. */
function listedFor(operation: string): Map<string, string> {
  const section = document.split(/^## /m).find((part) => part.startsWith(`${operation}\n`)) ?? '';
  return new Map([...section.matchAll(/^\| `(\w+)` \| (\w+) \|$/gm)].map((match) => [match[1] ?? '', match[2] ?? '']));
}

function among(operation: string, standing: string): string[] {
  return [...listedFor(operation)].filter(([, is]) => is === standing).map(([member]) => member);
}

describe('the document lists the members that the SDK declares', () => {
  for (const [operation, [file, name]] of Object.entries(types)) {
    test(operation, () => {
      assert.deepEqual([...listedFor(operation).keys()].sort(), membersOf(file, name).sort());
      for (const standing of listedFor(operation).values()) assert.match(standing, /^(used|refused|hint)$/);
    });
  }
});

/** Values with which a client asks for something. */
const asking: Readonly<Record<string, unknown>> = {
  access_programs: { names: ['x'] },
  audio: { format: 'mp3', voice: 'alloy' },
  context_management: [{ type: 'compaction' }],
  frequency_penalty: 0.5,
  function_call: { name: 'look_up' },
  functions: [{ name: 'look_up' }],
  logit_bias: { 50256: -100 },
  max_tool_calls: 1,
  modalities: ['text', 'audio'],
  moderation: { model: 'omni' },
  parallel_tool_calls: false,
  prediction: { type: 'content', content: 'Hello' },
  presence_penalty: -0.5,
  prompt: { id: 'pmpt_1' },
  prompt_cache_options: { mode: 'explicit' },
  seed: 7,
  service_tier: 'flex',
  stream_options: { include_obfuscation: true },
  text: { verbosity: 'low' },
  top_logprobs: 2,
  truncation: 'auto_none',
  web_search_options: { search_context_size: 'low' },
};

/** The member of the body that a path such as `text.verbosity` stands in. */
const rootOf = (path: string) => path.split('.')[0] ?? path;

for (const { operation, path, body, unused } of [
  {
    operation: 'POST /v1/chat/completions',
    path: '/v1/chat/completions',
    body: { messages: [{ role: 'user', content: 'Write 1 word' }] },
    unused: UNUSED_IN_COMPLETIONS,
  },
  {
    operation: 'POST /v1/responses',
    path: '/v1/responses',
    body: { input: 'Write 1 word' },
    unused: UNUSED_IN_RESPONSES,
  },
]) {
  describe(operation, () => {
    test('the document says of each member what is done', () => {
      assert.deepEqual(among(operation, 'refused').sort(), [...unused.refused].sort());
      const hints = unused.hints.filter((hint) => !hint.includes('.'));
      assert.deepEqual(among(operation, 'hint').sort(), hints.sort());
    });

    for (const member of unused.refused) {
      test(`${member} is refused`, async () => {
        const answer = await project.post(path, { ...body, [member]: asking[member] ?? true }, headers);
        assert.deepEqual(
          [answer.status, answer.body.error?.code, answer.body.error?.param],
          [422, 'invalid_request', member],
        );
      });
    }

    for (const hint of unused.hints) {
      test(`${hint} is named as not used`, async () => {
        const member = rootOf(hint);
        const answer = await project.post(path, { ...body, [member]: asking[member] ?? 'x' }, headers);
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.headers.get('ic-warnings'), `unused_member; param="${hint}"`);
      });
    }

    test('neutral values pass unnamed', async () => {
      const neutral = Object.fromEntries([...unused.refused, ...unused.hints].map((member) => [rootOf(member), null]));
      for (const more of [
        neutral,
        { ...neutral, logprobs: false, top_logprobs: 0, service_tier: 'auto', parallel_tool_calls: true },
      ]) {
        const answer = await project.post(path, { ...body, ...more }, headers);
        assert.deepEqual([answer.status, answer.headers.get('ic-warnings')], [200, null], answer.text);
      }
    });

    test('hints are named on a stream, too', async () => {
      const answer = await project.post(path, { ...body, stream: true, service_tier: 'flex' }, headers);
      assert.equal(answer.headers.get('ic-warnings'), 'unused_member; param="service_tier"');
    });
  });
}

test('`include` is refused for likelihoods, and a hint for what this server never makes', async () => {
  const ask = (include: string[]) => project.post('/v1/responses', { input: 'Write 1 word', include }, headers);
  const refused = await ask(['message.output_text.logprobs']);
  assert.deepEqual([refused.status, refused.body.error.param], [422, 'include']);
  const hinted = await ask(['file_search_call.results', 'reasoning.encrypted_content']);
  assert.equal(hinted.headers.get('ic-warnings'), 'unused_member; param="include"');
  const got = await project.get(`/v1/responses/${hinted.body.id}?include[]=web_search_call.results`);
  assert.deepEqual([got.status, got.headers.get('ic-warnings')], [200, 'unused_member; param="include"']);
  assert.equal((await ask(['file_search_call.results'])).headers.get('ic-warnings'), null);
});
