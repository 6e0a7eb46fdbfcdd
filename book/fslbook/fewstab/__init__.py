"""Chapters on FewSTAB: right for the wrong reason?"""
