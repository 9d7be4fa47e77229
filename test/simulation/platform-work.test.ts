import { testScenarios, workScenarios } from './platform-scenarios.ts';

testScenarios(workScenarios);
