import { testMcpAddresses } from '../../../test/hostile/mcp-addresses.ts';

testMcpAddresses('all');
