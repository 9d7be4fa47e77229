/**
 * The LangGraph.js development server, as `langgraphjs dev` starts it (10 workers, state in memory and in a file of its
 * working directory), without the command line around it: that one watches files, opens a browser and reports usage.
 *
 *     node serve.ts PORT        with an empty directory as the working directory; prints `ready` when it serves
 *
 * `TOOLS_URL` and `TOOL_TEXT` of its environment: the MCP server whose tool its second graph calls, and with what.
 */
import { fileURLToPath } from 'node:url';
import { startServer } from '@langchain/langgraph-api/server';

const DEFAULT_WORKERS = 10;

await startServer({
  port: Number(process.argv[2]),
  host: '127.0.0.1',
  nWorkers: DEFAULT_WORKERS,
  cwd: process.cwd(),
  graphs: {
    words: `${fileURLToPath(new URL('./graph.ts', import.meta.url))}:graph`,
    tools: `${fileURLToPath(new URL('./tool-graph.ts', import.meta.url))}:graph`,
  },
});
console.log('ready');
