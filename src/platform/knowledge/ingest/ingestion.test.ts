/** Runs of the job at its turning points: the reader and the embedder here stop and fail where a test wants them to. */

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { BlobNotFoundError, type BlobStore } from '../../../kernel/blobs/blobs.ts';
import { ChildCrashedError } from '../../../kernel/child-process/child-errors.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { createJobs, type Jobs } from '../../../kernel/jobs/jobs.ts';
import { createMetrics } from '../../../kernel/metrics/metrics.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import type { Embedders } from '../embed/index.ts';
import { type DocumentChunk, DocumentError, type DocumentReader, type DocumentSource } from '../read/index.ts';
import { dispatchFiles, type IngestJob, PLACES_PER_PROJECT } from './dispatch-files.ts';
import { addFiles, cancelBatchFiles, holdStore, removeFiles } from './file-status.ts';
import { defineIngestion, type IngestionDependencies } from './index.ts';
import { MAX_ATTEMPTS, MAX_RUNS } from './ingest-failure.ts';
import { ingestFile } from './ingest-file.ts';
import { createIngestionMetrics } from './ingestion-metrics.ts';
import { removeStore } from './remove-store.ts';
import { sweepIngestion } from './sweep-ingestion.ts';

const logger = openTestLogger();
const BATCH_ID = 'vsfb_1';

/** What a file reads as, and what happens at the chunk of that number before it is handed out. */
interface Script {
  readonly texts: readonly string[];
  readonly at?: Readonly<Record<number, () => Promise<void> | void>>;
}

class Stage {
  readonly db: Database;
  readonly projectId = mintId('proj');
  readonly storeId = mintId('vs');
  readonly embedded: string[] = [];
  readonly queued: IngestJob[] = [];
  script: Script = { texts: [] };
  embedFault: Error | undefined;
  blobGone = false;
  readings = 0;
  progress = 0;

  constructor(db: Database) {
    this.db = db;
  }

  readonly jobs: Pick<Jobs, 'enqueue'> = {
    enqueue: (_tx, _name, data) => {
      this.queued.push(data as IngestJob);
      return Promise.resolve('job');
    },
  };

  get deps(): IngestionDependencies {
    const blobs: Pick<BlobStore, 'get'> = {
      get: (key) =>
        this.blobGone
          ? Promise.reject(new BlobNotFoundError(key))
          : Promise.resolve({ stream: Readable.from([Buffer.from('x')]), bytes: 1, totalBytes: 1 }),
    };
    const reader: DocumentReader = { chunks: (_project, source) => this.#read(source), close: () => Promise.resolve() };
    const embedders: Embedders = {
      open: (_project, model) =>
        Promise.resolve({
          model,
          embed: (texts) => {
            if (this.embedFault !== undefined) return Promise.reject(this.embedFault);
            this.embedded.push(...texts);
            return Promise.resolve({ vectors: texts.map(() => Float32Array.of(0.6, 0.8)), tokens: texts.length });
          },
        }),
    };
    return {
      db: this.db,
      blobs: blobs as BlobStore,
      reader,
      embedders,
      logger,
      metrics: createMetrics(),
      projectStorageBytes: 1_000_000_000,
    };
  }

  async *#read(source: DocumentSource): AsyncGenerator<readonly DocumentChunk[]> {
    this.readings += 1;
    await source.began?.();
    for (const [at, text] of this.script.texts.entries()) {
      await this.script.at?.[at]?.();
      yield [{ text, tokens: 1 }];
    }
    await this.script.at?.[this.script.texts.length]?.();
  }

  /** A project, a store in it and files in that. */
  async open(...fileIds: readonly string[]): Promise<void> {
    const organizationId = mintId('org');
    await this.#query('insert into organizations (id, name) values ($1, $1)', organizationId);
    await this.#query(
      'insert into projects (id, organization_id, name) values ($1, $2, $1)',
      this.projectId,
      organizationId,
    );
    await this.#query(
      `insert into vector_stores (project_id, id, embedding_model, chunk_tokens, overlap_tokens)
       values ($1, $2, 'builtin/embed', 800, 400)`,
      this.projectId,
      this.storeId,
    );
    for (const id of fileIds) {
      await this.#query(
        `insert into files (project_id, id, filename, media_type, purpose, bytes, sha256)
         values ($1, $2, 'a.txt', 'text/plain', 'assistants', 1, 'x')`,
        this.projectId,
        id,
      );
    }
    await this.add(...fileIds);
  }

  async add(...fileIds: readonly string[]): Promise<void> {
    await this.held((tx, store) =>
      addFiles(
        tx,
        store,
        fileIds.map((fileId) => ({ fileId, attributes: null, chunkTokens: 800, overlapTokens: 400 })),
        { batchId: BATCH_ID, actor: { kind: 'tenant', id: this.projectId, token_id: 'tok_1', email: '' } },
      ),
    );
  }

  async held(work: (tx: never, store: never) => Promise<unknown>): Promise<void> {
    await new TenantDatabase(this.db, this.projectId).transaction(async (tx) => {
      const store = await holdStore(tx, this.storeId);
      assert.ok(store);
      await work(tx as never, store as never);
    });
  }

  /** One run of the file's job. */
  async run(
    fileId: string,
    { attempt = 1, abruptEnds = 0, signal = new AbortController().signal, position = 0 } = {},
  ): Promise<void> {
    const data = {
      projectId: this.projectId,
      vectorStoreId: this.storeId,
      fileId,
      position: position || (await this.row(fileId))?.position || 0,
    };
    const keepProgress = async () => {
      this.progress += 1;
    };
    const job = { id: 'job', data, attempt, abruptEnds, keepProgress, signal };
    await ingestFile(this.deps, createIngestionMetrics(createMetrics()), this.jobs as Jobs, job);
  }

  async countAbruptEnds(fileId: string): Promise<number | undefined> {
    const { rows } = await this.db.query<{ abrupt_ends: number }>({
      text: 'select abrupt_ends from vector_store_files where project_id = $1 and file_id = $2',
      values: [this.projectId, fileId],
    });
    return rows[0]?.abrupt_ends;
  }

  async row(fileId: string) {
    const { rows } = await this.db.query<{
      position: number;
      status: string;
      chunk_count: number;
      usage_bytes: number;
      error_code: string | null;
      error_message: string | null;
      attempts: number;
    }>({
      text: `select position, status, chunk_count, usage_bytes, error_code, error_message, attempts
             from vector_store_files where project_id = $1 and vector_store_id = $2 and file_id = $3`,
      values: [this.projectId, this.storeId, fileId],
    });
    return rows[0];
  }

  async texts(fileId: string): Promise<string[]> {
    const { rows } = await this.db.query<{ position: number; text: string }>({
      text: `select position, text from vector_store_chunks
             where project_id = $1 and vector_store_id = $2 and file_id = $3 order by position`,
      values: [this.projectId, this.storeId, fileId],
    });
    assert.deepEqual(
      rows.map(({ position }) => position),
      rows.map((_, at) => at),
    );
    return rows.map(({ text }) => text);
  }

  async counters() {
    const { rows } = await this.db.query<Record<string, number>>({
      text: `select files_in_progress, files_completed, files_failed, files_cancelled, usage_bytes
             from vector_stores where project_id = $1 and id = $2`,
      values: [this.projectId, this.storeId],
    });
    return Object.values(rows[0] ?? {});
  }

  async events(): Promise<[string, unknown, unknown][]> {
    const { rows } = await this.db.query<{ type: string; data: unknown; actor: { token_id: string } | null }>({
      text: 'select type, data, actor from events where project_id = $1 order by id',
      values: [this.projectId],
    });
    return rows.map(({ type, data, actor }) => [type, data, actor?.token_id]);
  }

  async #query(text: string, ...values: unknown[]): Promise<void> {
    await this.db.query({ text, values });
  }
}

const numbered = (count: number, prefix = 'chunk') => Array.from({ length: count }, (_, at) => `${prefix} ${at}`);

describeOnEachStore('ingestion', {}, (current) => {
  const started: Jobs[] = [];
  after(() => Promise.all(started.map((jobs) => jobs.stop({ graceMs: 0 }))));

  async function stageWith(...fileIds: readonly string[]): Promise<Stage> {
    const stage = new Stage(current().db);
    await stage.open(...fileIds);
    return stage;
  }

  test('a file becomes its chunks in order, counted and told', async () => {
    const stage = await stageWith('f');
    stage.script = { texts: numbered(70, 'é') };
    await stage.run('f');
    assert.deepEqual(await stage.texts('f'), stage.script.texts);
    const bytes = stage.script.texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 2 * 2, 0);
    const { position: _, ...row } = (await stage.row('f')) ?? assert.fail();
    assert.deepEqual(row, {
      status: 'completed',
      chunk_count: 70,
      usage_bytes: bytes,
      error_code: null,
      error_message: null,
      attempts: 0,
    });
    assert.deepEqual(await stage.counters(), [0, 1, 0, 0, bytes]);
    const data = { vector_store_id: stage.storeId, file_id: 'f', usage_bytes: bytes };
    assert.deepEqual(await stage.events(), [['vector_store.file.completed', data, 'tok_1']]);
    await stage.run('f');
    assert.equal((await stage.events()).length, 1, 'a run after the last changes nothing');
  });

  test('a run that was cut off is taken up behind what it stored', async () => {
    const stage = await stageWith('f');
    const abort = new AbortController();
    stage.script = { texts: numbered(100), at: { 80: () => abort.abort(new Error('stop')) } };
    await assert.rejects(stage.run('f', { signal: abort.signal }), /stop/);
    assert.equal((await stage.texts('f')).length, 64);
    assert.equal((await stage.row('f'))?.attempts, 0, 'being stopped is no fault');
    stage.script = { texts: numbered(100) };
    await stage.run('f');
    assert.deepEqual(await stage.texts('f'), numbered(100));
    assert.deepEqual(stage.embedded, numbered(100), 'no chunk was embedded twice');
  });

  test('a beginning that the file does not begin with is thrown away', async () => {
    const stage = await stageWith('f');
    const abort = new AbortController();
    stage.script = { texts: numbered(50), at: { 40: () => abort.abort(new Error('stop')) } };
    await assert.rejects(stage.run('f', { signal: abort.signal }));
    for (const texts of [numbered(50, 'other'), numbered(10, 'short')]) {
      stage.script = { texts };
      const again = await stageWith('f');
      again.script = stage.script;
      await again.run('f');
      assert.deepEqual(await again.texts('f'), texts);
    }
    stage.script = { texts: numbered(10, 'short') };
    await stage.run('f');
    assert.deepEqual(await stage.texts('f'), numbered(10, 'short'));
  });

  test('a gap among the chunks is thrown away', async () => {
    const stage = await stageWith('f');
    const abort = new AbortController();
    stage.script = { texts: numbered(50), at: { 40: () => abort.abort(new Error('stop')) } };
    await assert.rejects(stage.run('f', { signal: abort.signal }));
    await stage.db.query({
      text: 'delete from vector_store_chunks where project_id = $1 and position = 3',
      values: [stage.projectId],
    });
    stage.script = { texts: numbered(50) };
    await stage.run('f');
    assert.deepEqual(await stage.texts('f'), numbered(50));
  });

  test('two runs of one file at once store each chunk once', async () => {
    const stage = await stageWith('f');
    stage.script = { texts: numbered(100) };
    await Promise.all([stage.run('f'), stage.run('f')]);
    assert.deepEqual(await stage.texts('f'), numbered(100));
    assert.deepEqual((await stage.counters()).slice(0, 4), [0, 1, 0, 0]);
    assert.equal((await stage.events()).length, 1);
  });

  for (const code of ['unsupported_file', 'no_text_layer', 'invalid_file'] as const) {
    test(`a file that is ${code} fails at once, with nothing left of it`, async () => {
      const stage = await stageWith('f');
      const refuse = () => {
        throw new DocumentError(code, 'Say why.');
      };
      stage.script = { texts: numbered(40), at: { 40: refuse } };
      await stage.run('f');
      const row = await stage.row('f');
      assert.deepEqual([row?.status, row?.error_code, row?.error_message], ['failed', code, 'Say why.']);
      assert.deepEqual(await stage.texts('f'), []);
      assert.deepEqual(await stage.counters(), [0, 0, 1, 0, 0]);
      const data = { vector_store_id: stage.storeId, file_id: 'f', code, message: 'Say why.' };
      assert.deepEqual(await stage.events(), [['vector_store.file.failed', data, 'tok_1']]);
    });
  }

  test('a file without text fails', async () => {
    const stage = await stageWith('f');
    await stage.run('f');
    assert.equal((await stage.row('f'))?.error_code, 'invalid_file');
  });

  test('a passing fault is tried again, and given up in the end', async () => {
    const stage = await stageWith('f');
    stage.script = { texts: numbered(3) };
    stage.embedFault = new ApiError('embedding_unavailable', { message: 'The provider is busy.' });
    for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt += 1) {
      await assert.rejects(stage.run('f', { attempt }), /busy/);
      assert.equal((await stage.row('f'))?.status, 'in_progress');
    }
    await stage.run('f', { attempt: MAX_ATTEMPTS });
    const row = await stage.row('f');
    assert.deepEqual([row?.status, row?.error_code], ['failed', 'server_error']);
    assert.match(row?.error_message ?? '', /failed 8 times.*The provider is busy\..*add it again/);
  });

  test('a fault that passes leaves no mark', async () => {
    const stage = await stageWith('f');
    stage.script = { texts: numbered(3) };
    stage.embedFault = new Error('connection refused');
    await assert.rejects(stage.run('f'));
    stage.embedFault = undefined;
    await stage.run('f', { attempt: 2 });
    assert.equal((await stage.row('f'))?.status, 'completed');
  });

  test('a model that cannot be used fails the file at once', async () => {
    const stage = await stageWith('f');
    stage.script = { texts: numbered(3) };
    stage.embedFault = new ApiError('model_key_missing', { message: 'Store the key first.' });
    await stage.run('f');
    const row = await stage.row('f');
    assert.deepEqual([row?.status, row?.error_code], ['failed', 'server_error']);
    assert.match(row?.error_message ?? '', /Store the key first\./);
  });

  test('a file whose runs are cut off again and again is given up', async () => {
    const stage = await stageWith('f');
    stage.script = { texts: numbered(3) };
    await stage.run('f', { attempt: MAX_RUNS + 1 });
    const row = await stage.row('f');
    assert.deepEqual([row?.status, row?.error_code], ['failed', 'server_error']);
    assert.match(row?.error_message ?? '', /cut off/);
  });

  /** Two readings that never end, as when the process dies in them; each is counted before the test goes on. */
  async function dieTwice(stage: Stage): Promise<void> {
    const forever = () => new Promise<void>(() => undefined);
    stage.script = { texts: ['one'], at: { 0: forever } };
    for (const abruptEnds of [0, 1]) {
      void stage.run('f', { abruptEnds });
      await eventually(
        async () => ((await stage.countAbruptEnds('f')) === abruptEnds + 1 ? true : undefined),
        'the reading is counted',
      );
    }
  }

  test('a file whose reading ends the process twice is not read a third time', async () => {
    const stage = new Stage(current().db);
    await stage.open('f');
    await dieTwice(stage);
    stage.script = { texts: ['one'] };
    await stage.run('f', { abruptEnds: 2 });
    const row = await stage.row('f');
    assert.deepEqual([row?.status, row?.error_code], ['failed', 'invalid_file']);
    assert.match(row?.error_message ?? '', /ended abruptly 2 times/);
    assert.equal(stage.readings, 2);
  });

  test('a file that ends its process faster than a step is counted is not read a third time either', async () => {
    const stage = new Stage(current().db);
    await stage.open('f');
    // The first process ended at once: its job alone knows of it.
    stage.script = { texts: ['one'], at: { 0: () => new Promise<void>(() => undefined) } };
    void stage.run('f', { abruptEnds: 1 });
    await eventually(
      async () => ((await stage.countAbruptEnds('f')) === 1 ? true : undefined),
      'the suspect is counted before it is read',
    );
    stage.script = { texts: ['one'] };
    await stage.run('f', { abruptEnds: 2 });
    const row = await stage.row('f');
    assert.deepEqual([row?.status, row?.error_code, stage.readings], ['failed', 'invalid_file', 1]);
  });

  test('a file whose reader crashes is read once more, and then given up', async () => {
    const stage = new Stage(current().db);
    await stage.open('f');
    const crash = () => {
      throw new ChildCrashedError('document reader', null, 'SIGSEGV', '');
    };
    stage.script = { texts: ['one', 'two'], at: { 1: crash } };
    await assert.rejects(stage.run('f'), /crashed/);
    assert.equal((await stage.row('f'))?.status, 'in_progress');
    assert.equal(await stage.countAbruptEnds('f'), 1);
    await stage.run('f', { attempt: 2 });
    const row = await stage.row('f');
    assert.deepEqual([row?.status, row?.error_code, stage.readings], ['failed', 'invalid_file', 2]);
  });

  test('a reading that the stop of the server breaks off is not counted, nor one that fails by a passing fault', async () => {
    const stage = new Stage(current().db);
    await stage.open('f');
    const controller = new AbortController();
    const stop = async () => {
      assert.equal(await stage.countAbruptEnds('f'), 1, 'a suspect is counted before it is read');
      controller.abort(new Error('the process is stopping'));
      throw controller.signal.reason;
    };
    stage.script = { texts: ['one'], at: { 0: stop } };
    await assert.rejects(stage.run('f', { abruptEnds: 1, signal: controller.signal }), /stopping/);
    assert.equal(await stage.countAbruptEnds('f'), 0);
    stage.script = { texts: ['one'] };
    stage.embedFault = new ApiError('embedding_unavailable', { message: 'down' });
    await assert.rejects(stage.run('f', { abruptEnds: 1 }));
    assert.equal(await stage.countAbruptEnds('f'), 0);
    stage.embedFault = undefined;
    await stage.run('f', { abruptEnds: 1 });
    assert.equal((await stage.row('f'))?.status, 'completed');
  });

  test('a file whose process ended while it was not read goes on, and says when it has got further', async () => {
    const stage = new Stage(current().db);
    await stage.open('f');
    stage.script = { texts: ['one'] };
    await stage.run('f', { abruptEnds: 2 });
    assert.equal((await stage.row('f'))?.status, 'completed');
    assert.equal(stage.progress, 2, 'at the start, and once its chunks were stored');
  });

  test('a file whose bytes are not found is tried again while it exists', async () => {
    const stage = await stageWith('f');
    stage.blobGone = true;
    await assert.rejects(stage.run('f'), BlobNotFoundError);
    await stage.db.query({ text: 'delete from files where project_id = $1', values: [stage.projectId] });
    await stage.run('f', { attempt: 2 });
    const row = await stage.row('f');
    assert.deepEqual([row?.status, row?.error_code], ['failed', 'invalid_file']);
    assert.match(row?.error_message ?? '', /deleted before/);
  });

  test('a file that is cancelled while it is indexed stays so, and leaves no chunk', async () => {
    const stage = await stageWith('f');
    const cancel = () => stage.held((tx, store) => cancelBatchFiles(tx, store, BATCH_ID));
    for (const at of [0, 40, 100]) {
      stage.script = { texts: numbered(100), at: { [at]: cancel } };
      await stage.run('f');
      assert.equal((await stage.row('f'))?.status, 'cancelled');
      assert.deepEqual(await stage.texts('f'), []);
      assert.deepEqual(await stage.counters(), [0, 0, 0, 1, 0]);
      await stage.add('f');
    }
    assert.deepEqual(await stage.events(), []);
  });

  test('a file that is removed and added again while it is indexed gets the chunks of its second time alone', async () => {
    const stage = await stageWith('f');
    const position = (await stage.row('f'))?.position ?? 0;
    const readd = async () => {
      await stage.held((tx, store) => removeFiles(tx, store, ['f']));
      await stage.add('f');
    };
    stage.script = { texts: numbered(100, 'first'), at: { 40: readd } };
    await stage.run('f', { position });
    assert.equal((await stage.row('f'))?.status, 'in_progress');
    assert.deepEqual(await stage.texts('f'), []);
    stage.script = { texts: numbered(5, 'second') };
    await stage.run('f');
    assert.deepEqual(await stage.texts('f'), numbered(5, 'second'));
  });

  test('a store that is deleted while its files are indexed loses every row', async () => {
    const stage = await stageWith('f', 'g', 'h');
    stage.script = { texts: numbered(5) };
    await stage.run('g');
    const remove = async () => {
      await stage.db.query({
        text: 'update vector_stores set deleted_at = now() where id = $1',
        values: [stage.storeId],
      });
      await removeStore(
        stage.db,
        { projectId: stage.projectId, vectorStoreId: stage.storeId },
        new AbortController().signal,
      );
    };
    stage.script = { texts: numbered(100), at: { 40: remove } };
    await stage.run('f');
    for (const table of ['vector_stores', 'vector_store_files', 'vector_store_chunks', 'vector_store_batches']) {
      const { rowCount } = await stage.db.query({
        text: `select from ${table} where project_id = $1`,
        values: [stage.projectId],
      });
      assert.equal(rowCount, 0, table);
    }
  });

  test('a store that lives is not removed', async () => {
    const stage = await stageWith('f');
    const job = { projectId: stage.projectId, vectorStoreId: stage.storeId };
    await removeStore(stage.db, job, new AbortController().signal);
    assert.equal((await stage.row('f'))?.status, 'in_progress');
  });

  test('a project holds a few places in line, and who ends gives one on to the file that waits longest', async () => {
    const files = numbered(20, 'f');
    const stage = await stageWith(...files);
    const dispatch = () =>
      new TenantDatabase(stage.db, stage.projectId).transaction((tx) => dispatchFiles(tx, stage.jobs as Jobs));
    await dispatch();
    await dispatch();
    const first = files.slice(0, PLACES_PER_PROJECT);
    assert.deepEqual(
      stage.queued.map(({ fileId }) => fileId),
      first,
    );
    stage.script = { texts: ['x'] };
    await stage.run(first[3] ?? '');
    assert.deepEqual(
      stage.queued.map(({ fileId }) => fileId),
      [...first, files[PLACES_PER_PROJECT]],
    );
    await stage.held((tx, store) => removeFiles(tx, store, first));
    await dispatch();
    assert.equal(stage.queued.length, 2 * PLACES_PER_PROJECT);
  });

  test('a place whose job is lost is given anew', async () => {
    const stage = await stageWith('f');
    await new TenantDatabase(stage.db, stage.projectId).transaction((tx) => dispatchFiles(tx, stage.jobs as Jobs));
    const sweep = async () => {
      await sweepIngestion(stage.db, stage.jobs as Jobs, new AbortController().signal);
      // A sweep is for every project of the database.
      return stage.queued.filter(({ projectId }) => projectId === stage.projectId).length;
    };
    assert.equal(await sweep(), 1, 'a place that is in use stays');
    await stage.db.query({
      text: `update vector_store_files set updated_at = now() - interval '31 minutes' where project_id = $1`,
      values: [stage.projectId],
    });
    assert.equal(await sweep(), 2);
  });

  test('the single file of one project does not wait for the batch of another', async () => {
    const [large, small] = [new Stage(current().db), new Stage(current().db)];
    const order: string[] = [];
    large.script = { texts: ['x'] };
    const jobs = createJobs(current().db, { logger });
    started.push(jobs);
    const deps = large.deps;
    defineIngestion(jobs, {
      ...deps,
      reader: {
        async *chunks(_project, source) {
          order.push(source.filename);
          yield [{ text: source.filename, tokens: 1 }];
        },
        close: () => Promise.resolve(),
      },
    });
    await large.open(...numbered(60, 'large'));
    await small.open('small');
    await current().db.query({
      text: `update files set filename = id where project_id in ($1, $2)`,
      values: [large.projectId, small.projectId],
    });
    await jobs.start();
    await new TenantDatabase(current().db, large.projectId).transaction((tx) => dispatchFiles(tx, jobs));
    await new TenantDatabase(current().db, small.projectId).transaction((tx) => dispatchFiles(tx, jobs));
    await eventually(async () => ((await large.counters())[1] === 60 ? true : undefined), 'the batch is indexed');
    await eventually(async () => ((await small.counters())[1] === 1 ? true : undefined), 'the single file is indexed');
    assert.equal(new Set(order).size, 61);
    assert.ok(order.indexOf('small') <= 2 * PLACES_PER_PROJECT, `${order.indexOf('small')} files went first`);
  });
});
