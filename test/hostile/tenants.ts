/** The projects that the cases of this folder belong to, and one way in for each kind of case. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { type Answer, type Client, createClient } from '../support/platform.ts';
import { question } from '../support/turns.ts';
import type { DocumentAnswer, DocumentCase, HttpTarget, SchemaCase, SchemaPlace } from './cases.ts';

export interface Tenant {
  /** Of the server. */
  readonly url: string;
  readonly client: Client;
  readonly smithId: string;
  readonly storeId: string;
  /** Its texts are embedded by `builtin/embed`. */
  readonly builtinStoreId: string;
}

/** What the server is asked to find the way to it. */
export interface Gate {
  readonly url: string;
  readonly organization: Client;
}

/**
 * A project with a smith on the demo model and vector stores. `modelServer` is the base URL of what embeds the texts of the
 * first; without it, that is done by `builtin/embed` too.
 */
export async function openTenant({ url, organization }: Gate, name: string, modelServer?: string): Promise<Tenant> {
  const project = await succeed(() => organization.post('/v1/organization/projects', { name }));
  const minted = await succeed(() => organization.post(`/v1/organization/projects/${project.id}/tokens`));
  const client = createClient(url, minted.token);
  const smith = await succeed(() => client.post('/v1/smiths', { model: 'builtin/demo' }));
  const builtin = await succeed(() => client.post('/v1/vector_stores', { name }));
  const tenant = { url, client, smithId: smith.id, builtinStoreId: builtin.id };
  if (modelServer === undefined) return { ...tenant, storeId: builtin.id };
  const key = { api_key: 'sk-hostile', base_url: modelServer };
  await succeed(() => client.put('/v1/tenant/model_keys/openai-compatible', key));
  const embedding = { name, embedding_model: 'openai-compatible/small' };
  const store = await succeed(() => client.post('/v1/vector_stores', embedding));
  return { ...tenant, storeId: store.id };
}

export function aimAt(tenant: Tenant, { url, organization }: Gate, pid: number): HttpTarget {
  const { hostname, port } = new URL(url);
  return {
    host: hostname,
    port: Number(port),
    url,
    token: tenant.client.token,
    smithId: tenant.smithId,
    organizationKey: organization.token,
    pid,
  };
}

export interface TurnOutcome {
  readonly answer: Answer;
  /** Of the turn; undefined where the request was refused. */
  readonly turn: string | undefined;
}

/** One turn whose schema comes in at this place. */
export async function sendSchema(tenant: Tenant, case_: SchemaCase, place: SchemaPlace): Promise<TurnOutcome> {
  const schema = case_.schema();
  const schemaJson = typeof schema === 'string' ? schema : JSON.stringify(schema);
  const args = JSON.stringify(case_.args?.() ?? {});
  const answer = await askAgain(() => post(tenant, place, schemaJson, args));
  const turn = answer.status < 300 ? await readTurn(tenant, answer) : undefined;
  // A turn that waits for its tool would keep the next one out.
  if (turn === 'paused') await tenant.client.post(`/v1/smiths/${tenant.smithId}/runs/${answer.body.id}/cancel`);
  return { answer, turn };
}

function post({ client, smithId }: Tenant, place: SchemaPlace, schemaJson: string, args: string): Promise<Answer> {
  const runs = `/v1/smiths/${smithId}/runs`;
  switch (place) {
    case 'response_format': {
      const body = JSON.stringify({
        ...question('Answer in that form'),
        response_format: { type: 'json_schema', json_schema: { name: 'form', schema: PLACEHOLDER } },
      });
      return client.post(runs, withSchema(body, schemaJson));
    }
    case 'text.format': {
      const body = JSON.stringify({
        model: 'default',
        input: 'Answer in that form',
        text: { format: { type: 'json_schema', name: 'form', schema: PLACEHOLDER } },
      });
      return client.post('/v1/responses', withSchema(body, schemaJson), { 'ic-smith-id': smithId });
    }
    case 'tool parameters': {
      const body = JSON.stringify({
        ...question(`Call the tool check with ${args}`),
        tools: [{ name: 'check', description: 'Checks', parameters: PLACEHOLDER }],
      });
      return client.post(runs, withSchema(body, schemaJson));
    }
  }
}

const PLACEHOLDER = 'the schema of the case';

/** A function as replacement: the schema may hold `$&`. */
function withSchema(body: string, schemaJson: string): string {
  return body.replace(JSON.stringify(PLACEHOLDER), () => schemaJson);
}

async function readTurn({ client, smithId }: Tenant, { body }: Answer): Promise<string> {
  if (body.object === 'response') return body.status;
  let run = body;
  while (run.status === 'in_progress' || run.status === 'queued') {
    await wait(POLL_MS);
    run = (await client.get(`/v1/smiths/${smithId}/runs/${run.id}`)).body;
  }
  return run.status;
}

const POLL_MS = 500;

export interface IndexState {
  /** Undefined while it is being indexed. */
  readonly answer: DocumentAnswer | 'server_error' | 'cancelled' | undefined;
  readonly message: string;
}

export interface IndexOutcome extends IndexState {
  readonly tookMs: number;
  readonly fileId: string;
}

/** Uploads the document, adds it to the tenant's store and waits until it is indexed or has failed. */
export async function indexDocument(owner: Tenant, document: DocumentCase): Promise<IndexOutcome> {
  const tenant = document.embedding === 'builtin/embed' ? { ...owner, storeId: owner.builtinStoreId } : owner;
  const { fileId } = await addDocument(tenant, document);
  const startedMs = performance.now();
  for (;;) {
    const state = await readIndexing(tenant, fileId);
    if (state.answer !== undefined) return { ...state, tookMs: performance.now() - startedMs, fileId };
    await wait(POLL_MS);
  }
}

/** As few chunks as can be: the cases are about reading files, and every chunk has to be embedded. */
const CHUNKING = { type: 'static', static: { max_chunk_size_tokens: 4_096, chunk_overlap_tokens: 0 } };

/** Uploads the document and adds it to the tenant's store. */
export async function addDocument(tenant: Tenant, document: DocumentCase): Promise<{ readonly fileId: string }> {
  const fileId = await uploadDocument(tenant, document);
  const added = { file_id: fileId, chunking_strategy: CHUNKING };
  await succeed(() => tenant.client.post(`/v1/vector_stores/${tenant.storeId}/files`, added));
  return { fileId };
}

export async function readIndexing({ client, storeId }: Tenant, fileId: string): Promise<IndexState> {
  const { status, last_error } = await succeed(() => client.get(`/v1/vector_stores/${storeId}/files/${fileId}`));
  if (status === 'in_progress') return { answer: undefined, message: '' };
  return { answer: status === 'failed' ? last_error.code : status, message: last_error?.message ?? '' };
}

async function uploadDocument({ client }: Tenant, { filename, mediaType, bytes }: DocumentCase): Promise<string> {
  const form = new FormData();
  form.set('purpose', 'assistants');
  form.set('file', new Blob([Buffer.from(bytes())], { type: mediaType ?? 'application/octet-stream' }), filename);
  return (await succeed(() => client.post('/v1/files', form))).id;
}

/** A server on a machine without a processor to spare may shed load; it is asked again, as its answer says. */
async function askAgain(call: () => Promise<Answer>): Promise<Answer> {
  const deadlineMs = performance.now() + SHEDDING_MS;
  for (;;) {
    const answer = await call();
    if (answer.status !== 503 || !/shedding load/.test(answer.text) || performance.now() > deadlineMs) return answer;
    await wait(POLL_MS);
  }
}

const SHEDDING_MS = 60_000;

async function succeed(call: () => Promise<Answer>): Promise<Answer['body']> {
  const { status, body, text } = await askAgain(call);
  assert.ok(status < 300, `${status} ${text.slice(0, 500)}`);
  return body;
}
