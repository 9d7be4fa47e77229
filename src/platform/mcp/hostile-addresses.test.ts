/** Some addresses of MCP servers that are none of a tenant's business are refused, and not called. The soak tries all of them. */
import { testMcpAddresses } from '../../../test/hostile/mcp-addresses.ts';

testMcpAddresses('some');
