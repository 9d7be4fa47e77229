import { fileScenarios, testScenarios } from './platform-scenarios.ts';

testScenarios(fileScenarios);
