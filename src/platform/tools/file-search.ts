/**
 * `file_search`: looks into the vector stores of the turn. The model is given the passages as a section that it can read
 * (context-sections.ts), each under a marker to cite it by; `findCitations` finds the markers in an answer again.
 */
import { type KnowledgeSearch, parseFilter, type RankingOptions, type SearchHit } from '../knowledge/search/index.ts';
import { estimateTokens, SEARCH_RESULTS_TAG, wrapSection } from '../models/index.ts';
import type { JsonObject } from '../tables.ts';
import type { FileSearchConfig, Tool, ToolOutcome, ToolSource } from './tool.ts';

export const FILE_SEARCH = 'file_search';

const DEFAULT_RESULTS = 8;
const MAX_RESULTS = 50;
/** Of all passages together: a model's window has to hold the conversation too. */
const MAX_PASSAGE_TOKENS = 4_000;

export function createFileSearch(search: KnowledgeSearch): ToolSource {
  return {
    toolsFor: ({ projectId, smithId, fileSearch }) => ({
      tools: fileSearch === null ? [] : [fileSearchTool(search, { projectId, smithId }, fileSearch)],
    }),
  };
}

function fileSearchTool(
  search: KnowledgeSearch,
  whose: { readonly projectId: string; readonly smithId: string },
  config: FileSearchConfig,
): Tool {
  return {
    name: FILE_SEARCH,
    description:
      'Searches the files that belong to this conversation. Each passage comes under a marker such as 【1†report.pdf】: ' +
      'cite what you use by its marker, right behind the sentence.',
    parameters: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What to look for, in full words; one question at a time.' },
      },
      required: ['query'],
      additionalProperties: false,
    },
    requiresApproval: false,
    repeatable: true,
    execute: async ({ args, signal }) => {
      const query = typeof args.query === 'string' ? args.query.trim() : '';
      if (query === '') return { error: '`query` must say what to look for.' };
      const { hits } = await search.search({
        ...whose,
        vectorStoreIds: config.vector_store_ids,
        queries: [query],
        maxResults: Math.min(config.max_num_results ?? DEFAULT_RESULTS, MAX_RESULTS),
        filter: config.filters === null ? null : parseFilter(config.filters, 'filters'),
        ...(config.ranking_options === null ? {} : { ranking: readRanking(config.ranking_options) }),
        signal,
      });
      return describeHits(query, hits);
    },
  };
}

/** The API's `ranking_options`, checked where the request came in. */
function readRanking(options: JsonObject): RankingOptions {
  const hybrid = options.hybrid_search as { embedding_weight: number; text_weight: number } | undefined;
  return {
    ...(typeof options.score_threshold === 'number' ? { scoreThreshold: options.score_threshold } : {}),
    ...(hybrid == null ? {} : { embeddingWeight: hybrid.embedding_weight, textWeight: hybrid.text_weight }),
  };
}

function describeHits(query: string, hits: readonly SearchHit[]): ToolOutcome {
  const results: FoundPassage[] = [];
  let tokens = 0;
  for (const { fileId, filename, vectorStoreId, score, attributes, text } of hits) {
    tokens += estimateTokens(text);
    if (results.length > 0 && tokens > MAX_PASSAGE_TOKENS) break;
    const marker = `【${results.length + 1}†${filename.replaceAll('】', ')')}】`;
    results.push({ marker, file_id: fileId, filename, vector_store_id: vectorStoreId, score, attributes, text });
  }
  const passages = results.map(({ marker, text }) => `${marker}\n${text}`).join('\n\n');
  const forModel = wrapSection(SEARCH_RESULTS_TAG, passages === '' ? 'Nothing was found.' : passages);
  return { output: { query, results: results as unknown as JsonObject[] }, forModel };
}

/** A result of a `file_search` call, as runs show it. */
export interface FoundPassage {
  readonly marker: string;
  readonly file_id: string;
  readonly filename: string;
  readonly vector_store_id: string;
  readonly score: number;
  readonly attributes: JsonObject | null;
  readonly text: string;
}

/** Where an answer cites a file. `index` counts UTF-16 units from the answer's beginning to the marker. */
export interface Citation {
  readonly type: 'file_citation';
  readonly index: number;
  readonly file_id: string;
  readonly filename: string;
}

/** A filename has at most 255 bytes. Without that bound, markers that are never closed would be searched to the end of the text, each. */
const MARKER = /【\d{1,4}†[^】]{0,255}】/g;

/** The markers of the passages in the text, in order; of several searches, a marker is the first one's. */
export function findCitations(text: string, outputs: readonly (JsonObject | null)[]): Citation[] {
  const passages = new Map<string, CitedPassage>();
  for (const output of outputs) {
    for (const passage of Array.isArray(output?.results) ? output.results : []) {
      if (isCitable(passage) && !passages.has(passage.marker)) passages.set(passage.marker, passage);
    }
  }
  if (passages.size === 0) return [];
  return [...text.matchAll(MARKER)].flatMap((match) => {
    const passage = passages.get(match[0]);
    if (passage === undefined) return [];
    return [
      { type: 'file_citation', index: match.index, file_id: passage.file_id, filename: passage.filename } as const,
    ];
  });
}

type CitedPassage = Pick<FoundPassage, 'marker' | 'file_id' | 'filename'>;

/** Where no store is searched, a client's own function may have the name, and answer whatever it likes. */
function isCitable(passage: unknown): passage is CitedPassage {
  if (typeof passage !== 'object' || passage === null) return false;
  const { marker, file_id: fileId, filename } = passage as Record<string, unknown>;
  return [marker, fileId, filename].every((value) => typeof value === 'string');
}
