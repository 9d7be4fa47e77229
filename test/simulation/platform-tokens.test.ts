import { testScenarios, tokenScenarios } from './platform-scenarios.ts';

testScenarios(tokenScenarios);
