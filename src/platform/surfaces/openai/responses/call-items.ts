/** Items of a response that are calls of tools the server makes itself: searches of files, and what MCP servers are asked. */
import type { JsonObject } from '../../../tables.ts';
import { FILE_SEARCH } from '../../../tools/file-search.ts';
import { fileSearchItemId, mcpCallItemId, mcpListItemId } from '../item-ids.ts';
import type { ItemLog, Shown } from './item-log.ts';
import {
  type CalledServer,
  fileSearchItem,
  mcpCallItem,
  mcpListItem,
  mcpResult,
  passagesOf,
  readServer,
} from './response-items.ts';

interface Search {
  readonly shown: Shown;
  readonly query: unknown;
  isOpen: boolean;
}

/** A call of an MCP server's tool. */
interface RemoteCall {
  readonly shown: Shown;
  readonly server: CalledServer;
  readonly args: string;
  isOpen: boolean;
}

/** An MCP server that is asked for its tools. */
interface ToolList {
  readonly shown: Shown;
  isOpen: boolean;
}

export interface CallItemsOptions {
  readonly runId: string;
  /** What searches found is shown with them. */
  readonly showResults: boolean;
}

export class CallItems {
  readonly #log: ItemLog;
  readonly #options: CallItemsOptions;
  readonly #searches = new Map<string, Search>();
  readonly #remoteCalls = new Map<string, RemoteCall>();
  /** By label. */
  readonly #lists = new Map<string, ToolList>();

  constructor(log: ItemLog, options: CallItemsOptions) {
    this.#log = log;
    this.#options = options;
  }

  /** Other tools are this server's own affair: a client that saw their calls would make them. */
  begin(data: JsonObject): void {
    this.#beginSearch(data);
    this.#beginRemoteCall(data);
  }

  end(data: JsonObject): void {
    this.#endSearch(data);
    this.#endRemoteCall(data);
  }

  #beginSearch({ tool, tool_call_id: callId, args }: JsonObject): void {
    if (tool !== FILE_SEARCH || typeof callId !== 'string' || this.#searches.has(callId)) return;
    const query = (args as JsonObject | undefined)?.query;
    const shown = this.#log.add(
      fileSearchItem(fileSearchItemId(this.#options.runId, callId), 'in_progress', query, null),
    );
    this.#searches.set(callId, { shown, query, isOpen: true });
    const at = { item_id: shown.id, output_index: shown.index };
    this.#log.emit('response.file_search_call.in_progress', at);
    this.#log.emit('response.file_search_call.searching', at);
  }

  #endSearch({ tool, tool_call_id: callId, output }: JsonObject): void {
    if (tool !== FILE_SEARCH) return;
    const search = this.#searches.get(String(callId));
    if (search?.isOpen !== true) return;
    const { shown } = search;
    search.isOpen = false;
    const hasFailed = (output as JsonObject | null)?.error !== undefined;
    if (!hasFailed) {
      this.#log.emit('response.file_search_call.completed', { item_id: shown.id, output_index: shown.index });
    }
    const results = this.#options.showResults && !hasFailed ? passagesOf(output) : null;
    this.#log.finish(shown, fileSearchItem(shown.id, hasFailed ? 'failed' : 'completed', search.query, results));
  }

  #beginRemoteCall(data: JsonObject): void {
    const server = readServer(data);
    const callId = String(data.tool_call_id);
    if (server === undefined || this.#remoteCalls.has(callId)) return;
    const id = mcpCallItemId(this.#options.runId, callId);
    const args = JSON.stringify(data.args ?? {});
    const shown = this.#log.add(mcpCallItem(id, 'in_progress', server, '', undefined));
    this.#remoteCalls.set(callId, { shown, server, args, isOpen: true });
    const at = { item_id: id, output_index: shown.index };
    this.#log.emit('response.mcp_call.in_progress', at);
    this.#log.emit('response.mcp_call_arguments.delta', { ...at, delta: args });
    this.#log.emit('response.mcp_call_arguments.done', { ...at, arguments: args });
  }

  #endRemoteCall({ tool_call_id: callId, output }: JsonObject): void {
    const call = this.#remoteCalls.get(String(callId));
    if (call?.isOpen !== true) return;
    call.isOpen = false;
    const { shown, server, args } = call;
    const result = mcpResult(output);
    const status = 'error' in result ? 'failed' : 'completed';
    this.#log.emit(`response.mcp_call.${status}`, { item_id: shown.id, output_index: shown.index });
    this.#log.finish(shown, mcpCallItem(shown.id, status, server, args, result));
  }

  beginList(label: string): void {
    if (this.#lists.has(label)) return;
    const id = mcpListItemId(this.#options.runId, label);
    const shown = this.#log.add(mcpListItem(id, 'in_progress', label, []));
    this.#lists.set(label, { shown, isOpen: true });
    this.#log.emit('response.mcp_list_tools.in_progress', { item_id: id, output_index: shown.index });
  }

  endList({ server_label, tools, error }: JsonObject): void {
    const label = String(server_label);
    const list = this.#lists.get(label);
    if (list?.isOpen !== true) return;
    list.isOpen = false;
    const { shown } = list;
    const status = error === undefined ? 'completed' : 'failed';
    this.#log.emit(`response.mcp_list_tools.${status}`, { item_id: shown.id, output_index: shown.index });
    const why = error === undefined ? undefined : String(error);
    this.#log.finish(shown, mcpListItem(shown.id, status, label, (tools ?? []) as JsonObject[], why));
  }

  /** The response ends: what is open stays without an end. */
  closeOpen(): void {
    for (const { shown, query, isOpen } of this.#searches.values()) {
      if (isOpen) this.#log.finish(shown, fileSearchItem(shown.id, 'incomplete', query, null));
    }
    for (const { shown, server, args, isOpen } of this.#remoteCalls.values()) {
      if (isOpen) this.#log.finish(shown, mcpCallItem(shown.id, 'incomplete', server, args, undefined));
    }
    for (const [label, { shown, isOpen }] of this.#lists) {
      if (isOpen) this.#log.finish(shown, mcpListItem(shown.id, 'incomplete', label, []));
    }
  }
}
